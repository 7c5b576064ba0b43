package tree

import "strconv"

// ColumnName returns the name of the i-th column of a derived table.
func ColumnName(i int) string { return "c" + strconv.Itoa(i+1) }

// PackedColumn is the column index of the only column of a packed rowset.
const PackedColumn = -1

// LevelColumn is the name of the column that counts the levels of a recursion.
const LevelColumn = "lvl"
