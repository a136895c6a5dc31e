"""Questions that stand: asked once, charged once, and answered day after day as time goes on."""
