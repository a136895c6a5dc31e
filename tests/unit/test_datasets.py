from collections import Counter

from discreet.datasets import people


def test_the_bundled_table_is_whole():
    table = people()
    assert list(table) == ["age", "gender", "region", "education", "earnings"]
    assert {len(column) for column in table.values()} == {61_395}
    assert Counter(table["region"])["South"] == 18_963
    assert min(map(int, table["age"])) == 21
    assert max(map(int, table["age"])) == 64
