"""Pictures as SVG, in a wide and a narrow form; colours come from the style sheet of the page."""
