package model

// The lengths of texts, in UTF-16 code units, as SQL Server counts the characters of NVARCHAR.
const (
	MaxName        = 128 // of an object, database or pool
	MaxServer      = 256
	MaxDescription = 512
	MaxNote        = 1000
	MaxTagFilter   = 4000
	MaxMemberQuery = 4000
)

// UsageDescription describes the flag of a description.
const UsageDescription = "free text, at most 512 characters"
