package syntax

import (
	"slices"
	"strings"
)

// Rejections lists what Parse refuses as not supported (mserr.NotSupported), sorted, as COMPAT.md of the embedded
// server shows it. Statements of [UnsupportedStmt] are not in it.
func Rejections() []string {
	list := []string{
		"$PARTITION",
		"ALTER DATABASE AUDIT", "ALTER DATABASE ENCRYPTION", "ALTER DATABASE SCOPED CONFIGURATION FOR SECONDARY",
		"ALTER SERVICE MASTER KEY",
		"BACKUP/RESTORE of certificates and keys",
		"BEGIN ATOMIC", "BEGIN DIALOG", "BEGIN CONVERSATION",
		"BULK INSERT",
		"CREATE DATABASE AUDIT", "CREATE DATABASE ENCRYPTION",
		"CREATE TABLE AS", "CREATE TYPE EXTERNAL NAME",
		"FILESTREAM_ON", "FOR SYSTEM_TIME",
		"KILL STATS", "KILL QUERY",
		"READTEXT", "WRITETEXT", "UPDATETEXT",
		"TABLESAMPLE", "TRUNCATE TABLE with partitions",
		"WAITFOR of a queue",
		"WITH RESULT SETS of objects and types", "WITH XMLNAMESPACES",
		"a FILESTREAM column", "a WITH clause behind a function other than OPENJSON", "a column set",
		"a data change with OUTPUT in FROM", "a function of an assembly (EXTERNAL NAME)", "a graph table (AS NODE, AS EDGE)", "a property of a CLR type", "the operator ||",
		"a generated column (GENERATED ALWAYS)", "a hash index", "a masked column (MASKED WITH)", "a memory-optimized table type",
		"a partition scheme", "a procedure of an assembly (EXTERNAL NAME)", "a static method (::)", "a system-versioned table",
		"a trigger of an assembly (EXTERNAL NAME)", "a typed xml column", "an encrypted column (ENCRYPTED WITH)",
		"assignment to a property", "change tracking",
		"the full-text predicate CONTAINS", "the full-text predicate FREETEXT", "the xml method nodes",
	}
	for _, what := range rejectedTables {
		list = append(list, what)
	}
	for _, words := range rejectedKinds {
		list = append(list, "CREATE/ALTER "+strings.Join(words, " "))
	}
	slices.Sort(list)
	return list
}
