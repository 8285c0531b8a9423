"""One content, three writers: the terminal, the page and matplotlib. Drawings are data until they are drawn."""
