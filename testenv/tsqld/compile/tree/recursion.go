package tree

// LevelColumn is the name of the column that counts the levels of a recursion.
const LevelColumn = "lvl"
