package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// formatVersion is the format of the rows in sys_def. Files with other formats are not opened.
const formatVersion = 1

// Keys of sys_meta.
const (
	metaFormat   = "format"
	metaVersion  = "version"
	metaCounters = "counters"
	// MetaRowVersion is the key of the database's last rowversion (@@DBTS) in [MetaTable].
	MetaRowVersion = "rowversion"
	// InitialRowVersion is that value in a new database.
	InitialRowVersion = 2000
)

// databaseRow is the stored form of a database's own properties.
type databaseRow struct {
	Name    string
	Created int64
	OwnerID []byte
	Options Options
}

// systemTables creates the tables of the catalog in a file.
const systemTables = `
CREATE TABLE IF NOT EXISTS %[1]s.sys_meta(key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS %[1]s.sys_def(kind TEXT NOT NULL, id INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, id)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS %[1]s.sys_identity(object_id INTEGER PRIMARY KEY, last INTEGER) STRICT;
CREATE TABLE IF NOT EXISTS %[1]s.sys_sequence(object_id INTEGER PRIMARY KEY, current ANY NOT NULL, used INTEGER NOT NULL) STRICT;
INSERT INTO %[1]s.sys_meta(key, value) VALUES ('format', %[2]d), ('rowversion', %[3]d) ON CONFLICT DO NOTHING;`

// Prepare creates the system tables in the file of a database if they are missing, in the open
// transaction if there is one. A database with objects always has them.
func (d *Database) Prepare(ctx context.Context, c *store.Conn) error {
	if d.stored {
		return nil
	}
	_, err := c.Exec(ctx, fmt.Sprintf(systemTables, d.SQLName(), formatVersion, InitialRowVersion), nil)
	return err
}

// Apply executes the changes on the session's connection. The database must be attached, and for
// atomicity a transaction or savepoint must be open. Apply returns the new version of the database.
// The session uses it until it commits and publishes it, or rolls back and discards it. The Edit
// must not be used afterwards.
//
// If existing rows violate a new constraint, the error is a *[store.ConstraintError]. Its
// Constraint is k<object id>, also for foreign keys.
func (e *Edit) Apply(ctx context.Context, c *store.Conn) (*Database, error) {
	d := e.db
	if err := d.Prepare(ctx, c); err != nil {
		return nil, err
	}
	if !d.stored {
		e.describe()
	}
	if len(e.script.steps) > 0 {
		// SQLite compiles CREATE and DROP against the schema that the connection has read last, and
		// does not detect a change by another connection: the result would be a wrong "already
		// exists". A statement that reads does detect the change.
		if _, err := c.QueryRow(ctx, "SELECT 1 FROM "+d.SQLName()+".sqlite_schema LIMIT 1", nil); err != nil {
			return nil, err
		}
	}
	for _, s := range e.script.steps {
		if err := s.run(ctx, c); err != nil {
			return nil, err
		}
	}
	e.dropOrphans()
	if err := e.write(ctx, c); err != nil {
		return nil, err
	}
	d.stored = true
	return d, nil
}

// run executes a step.
func (s step) run(ctx context.Context, c *store.Conn) error {
	if s.violated == nil {
		exec := func() error {
			_, err := c.Exec(ctx, s.sql, s.args)
			return err
		}
		if s.unchecked {
			return store.Unchecked(ctx, c, exec)
		}
		return exec()
	}
	row, err := c.QueryRow(ctx, s.sql, s.args)
	if err == nil && row != nil {
		err = s.violated
	}
	return err
}

// write stores the changed rows and the counters.
func (e *Edit) write(ctx context.Context, c *store.Conn) error {
	d := e.db
	keys := make([]defKey, 0, len(e.dirty))
	for k := range e.dirty {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b defKey) int {
		return cmp.Or(strings.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
	})
	for _, k := range keys {
		v := e.dirty[k]
		if v == nil {
			if _, err := c.Exec(ctx, "DELETE FROM "+d.SQLName()+".sys_def WHERE kind = ?1 AND id = ?2",
				[]types.Value{k.kind, k.id}); err != nil {
				return err
			}
			continue
		}
		body, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("catalog: store %s %d: %w", k.kind, k.id, err)
		}
		if _, err := c.Exec(ctx, "INSERT OR REPLACE INTO "+d.SQLName()+".sys_def(kind, id, body) VALUES (?1, ?2, ?3)",
			[]types.Value{k.kind, k.id, string(body)}); err != nil {
			return err
		}
	}
	counters, err := json.Marshal(d.next)
	if err != nil {
		return fmt.Errorf("catalog: store counters: %w", err)
	}
	_, err = c.Exec(ctx,
		"INSERT OR REPLACE INTO "+d.SQLName()+".sys_meta(key, value) VALUES ('version', ?1), ('counters', ?2)",
		[]types.Value{d.Version, string(counters)})
	return err
}

// load reads a database from its file. ok is false if the creation of the database was never
// committed. d is nil then, unless the file is a copy of another database without a row of its own.
func load(ctx context.Context, c *store.Conn, id int) (d *Database, ok bool, err error) {
	if err := c.Databases.Attach(ctx, id); err != nil {
		return nil, false, err
	}
	name := SQLName(id)
	row, err := c.QueryRow(ctx, "SELECT count(*) FROM "+name+".sqlite_schema WHERE name = 'sys_meta'", nil)
	if err != nil || row[0] == int64(0) {
		return nil, false, err
	}
	d = emptyDatabase(id, "", 0)
	d.stored = true
	if stored, err := loadMeta(ctx, d, c); !stored || err != nil {
		return nil, false, err
	}
	err = c.Each(ctx, "SELECT kind, id, body FROM "+name+".sys_def ORDER BY kind, id", nil, func(r []types.Value) error {
		kind, body := r[0].(string), r[2].(string)
		if kind == defDatabase {
			if r[1] != int64(id) {
				return nil
			}
			ok = true
		}
		if err := loadRow(d, kind, []byte(body)); err != nil {
			return fmt.Errorf("catalog: read %s %d of database %d: %w", kind, r[1], id, err)
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	d.setNames()
	return d, ok, repairCapture(ctx, d, c)
}

// loadMeta reads the counters and checks the format. ok is false if nothing was ever stored.
func loadMeta(ctx context.Context, d *Database, c *store.Conn) (ok bool, err error) {
	err = c.Each(ctx, "SELECT key, value FROM "+d.SQLName()+".sys_meta", nil, func(row []types.Value) error {
		switch v := row[1]; row[0] {
		case metaFormat:
			if v != int64(formatVersion) {
				return fmt.Errorf("catalog: database %d has format %v, this version reads %d", d.ID, v,
					formatVersion)
			}
		case metaVersion:
			d.Version, ok = v.(int64)
			recordVersion(d.Version)
		case metaCounters:
			text, _ := v.(string)
			if err := json.Unmarshal([]byte(text), &d.next); err != nil {
				return fmt.Errorf("catalog: read counters of database %d: %w", d.ID, err)
			}
		}
		return nil
	})
	return ok, err
}

// loadRow adds one stored definition.
func loadRow(d *Database, kind string, body []byte) error {
	if object, ok := strings.CutPrefix(kind, defObject); ok {
		return loadObject(d, Kind(object), body)
	}
	switch kind {
	case defDatabase:
		row, err := decode[databaseRow](body)
		d.Name, d.Created, d.OwnerID, d.Options = row.Name, row.Created, row.OwnerID, row.Options
		return err
	case defSchema:
		s, err := decode[Schema](body)
		d.schemas[d.names.Fold(s.Name)] = s
		return err
	case defAlias:
		a, err := decode[AliasType](body)
		d.aliases[objectKey{a.SchemaID, d.names.Fold(a.Name)}] = a
		return err
	case defPrincipal:
		p, err := decode[Principal](body)
		d.Principals.byID[p.ID] = p
		return err
	case defMember:
		return json.Unmarshal(body, &d.Principals.Memberships)
	case defPermission:
		return json.Unmarshal(body, &d.Permissions)
	case defProperty:
		return json.Unmarshal(body, &d.Properties)
	case defCredential:
		c, err := decode[Credential](body)
		d.credentials[Fold(c.Name)] = c
		return err
	case defLogin:
		l, err := decode[Login](body)
		d.logins[Fold(l.Name)] = l
		return err
	}
	return fmt.Errorf("unknown kind %q", kind)
}

// loadObject adds one stored object.
func loadObject(d *Database, kind Kind, body []byte) error {
	var o Object
	switch kind {
	case KindTable:
		o = &Table{}
	case KindView:
		o = &View{}
	case KindProcedure:
		o = &Procedure{}
	case KindScalarFunction, KindInlineFunction, KindTableFunction:
		o = &Function{}
	case KindTableType:
		o = &TableType{}
	case KindSequence:
		o = &Sequence{}
	case KindSynonym:
		o = &Synonym{}
	default:
		return fmt.Errorf("unknown kind of object %q", kind)
	}
	if err := json.Unmarshal(body, o); err != nil {
		return err
	}
	switch o := o.(type) {
	case *Table:
		nameCollations(o.Columns)
	case *TableType:
		nameCollations(o.Table.Columns)
	}
	d.link(o)
	return nil
}

// nameCollations sets the collations of columns by name, because earlier versions stored one of
// three collations for all names. A collation with a different order than that of the SQLite table
// is not changed.
func nameCollations(columns []*Column) {
	for _, c := range columns {
		if c.Collation == "" {
			continue
		}
		t, ok := c.Type, false
		if t.Collation, ok = types.CollationByName(c.Collation); ok && t.CollationName() == c.Type.CollationName() {
			c.Type = t
		}
	}
}

// decode parses a definition. The result is never nil.
func decode[T any](body []byte) (*T, error) {
	v := new(T)
	return v, json.Unmarshal(body, v)
}
