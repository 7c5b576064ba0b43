package tokens

// List reads one construct or several separated by commas.
func List[T any](c *Cursor, read func(*Cursor) T) []T {
	list := []T{read(c)}
	for c.Accept(",") {
		list = append(list, read(c))
	}
	return list
}

// Parens reads a construct in parentheses.
func Parens[T any](c *Cursor, read func(*Cursor) T) T {
	c.Expect("(")
	x := read(c)
	c.Expect(")")
	return x
}

// ParenList reads a list in parentheses.
func ParenList[T any](c *Cursor, read func(*Cursor) T) []T {
	c.Expect("(")
	list := List(c, read)
	c.Expect(")")
	return list
}
