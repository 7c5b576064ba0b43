package catalog

import (
	"fmt"
	"maps"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// IsLocalTemp reports whether a name is that of a temporary table or procedure of one session.
func IsLocalTemp(name string) bool { return strings.HasPrefix(name, "#") && !IsGlobalTemp(name) }

// IsGlobalTemp reports whether a name is that of a global temporary table. Such a table is a table
// of tempdb, in schema dbo, which a name without a database finds, too.
func IsGlobalTemp(name string) bool { return strings.HasPrefix(name, "##") }

// TempTable is a temporary table as shown in the views of tempdb.
type TempTable struct {
	Table    *Table
	Number   int32       // number of the table, from 1, for names and object IDs
	Identity types.Value // last identity value, an int64; nil before the first
}

// Lengths of the name of a temporary table in tempdb and of the number at its end, in characters.
const (
	tempNameLength   = 128
	tempNumberLength = 12
)

// TempName returns the name of a temporary table in tempdb: padded with underscores and followed by
// a number (documentation of CREATE TABLE, "Temporary tables").
func TempName(name string, number int32) string {
	return name + strings.Repeat("_",
		max(tempNameLength-tempNumberLength-len([]rune(name)), 0)) + fmt.Sprintf("%0*X", tempNumberLength, number)
}

// Object IDs of the constraints of temporary tables, whose definitions do not have them.
const (
	firstTempConstraint = -1_500_000_000
	tempConstraints     = 200 // for each table
)

// WithTemporary returns tempdb with the temporary tables of a session.
func (d *Database) WithTemporary(tables []TempTable) *Database {
	if len(tables) == 0 {
		return d
	}
	c := *d
	c.Version, c.origin = nextVersion(), nil
	c.objects, c.byName = maps.Clone(d.objects), maps.Clone(d.byName)
	c.constraints, c.conByName = maps.Clone(d.constraints), maps.Clone(d.conByName)
	for _, temp := range tables {
		t := Clone(temp.Table)
		t.Name = TempName(t.Name, temp.Number)
		next := int32(firstTempConstraint) - temp.Number*tempConstraints
		id := func(at *int32) {
			if *at == 0 {
				next--
				*at = next
			}
		}
		for _, ix := range t.Indexes {
			if ix.Key != nil {
				id(&ix.Key.ObjectID)
			}
		}
		for _, k := range t.Checks {
			id(&k.ObjectID)
		}
		for _, col := range t.Columns {
			if col.Default != nil {
				id(&col.Default.ObjectID)
			}
		}
		c.link(t)
	}
	return &c
}
