from tests.quick_disk import tmp_path

__all__ = ["tmp_path"]
