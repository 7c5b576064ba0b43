package session

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
)

// reach caches the results of [Server.RecordableFrom] for one version of a database.
type reach struct {
	database *catalog.Database
	tables   map[int32][]*catalog.Table
}

// RecordableFrom returns a table and those whose rows the actions of foreign keys may change with
// it, if all changes of their rows can be repeated from a record, otherwise nil.
func (i *Server) RecordableFrom(d *catalog.Database, t *catalog.Table) []*catalog.Table {
	i.mu.Lock()
	defer i.mu.Unlock()
	r := i.reaches[d.ID]
	if r.database != d {
		r = reach{d, map[int32][]*catalog.Table{}}
		i.reaches[d.ID] = r
	}
	tables, ok := r.tables[t.ObjectID]
	if !ok {
		tables = reached(d, t)
		if slices.ContainsFunc(tables, func(t *catalog.Table) bool { return !recordable(t) }) {
			tables = nil
		}
		r.tables[t.ObjectID] = tables
	}
	return tables
}

// reached returns a table and those whose rows the actions of foreign keys may change with it.
func reached(d *catalog.Database, t *catalog.Table) []*catalog.Table {
	out, all := []*catalog.Table{t}, d.Tables()
	for i := 0; i < len(out); i++ {
		for _, o := range all {
			if !slices.Contains(out, o) && slices.ContainsFunc(o.ForeignKeys, func(f *catalog.ForeignKey) bool {
				return f.Referenced == out[i].ObjectID && !f.Disabled && (f.OnDelete != catalog.NoAction || f.OnUpdate != catalog.NoAction)
			}) {
				out = append(out, o)
			}
		}
	}
	return out
}

// recordable reports whether changes of a table can be repeated from a record: SQLite stores no
// computed columns, and constraints do not need the session.
func recordable(t *catalog.Table) bool {
	if t.SQLName != "t"+strconv.Itoa(int(t.ObjectID)) {
		return false
	}
	stored := 0
	for _, c := range t.Columns {
		if c.SQLName != "" {
			stored++
		}
		if c.SQLName != "" && c.Formula != nil {
			return false
		}
	}
	return stored > 0 && !slices.ContainsFunc(t.Checks, func(c *catalog.Check) bool { return strings.Contains(c.SQL, "fnv(") })
}
