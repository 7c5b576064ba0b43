package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Edit collects the changes of one statement to one database. The changes are visible in
// [Edit.Database] at once; [Edit.Apply] writes them to SQLite. An object that is passed to an Edit
// belongs to the catalog and must not be changed afterwards. To change an existing object, clone it
// first.
//
// An Edit checks only the consistency of the catalog. The caller checks the rules of T-SQL and
// returns their messages.
type Edit struct {
	db     *Database
	now    int64
	dirty  map[defKey]any // rows to write; a nil row is deleted
	script script
}

// script is the SQLite statements of an Edit, in order.
type script struct {
	db    *Database // with the changes
	steps []step
}

// step is one SQLite statement.
type step struct {
	sql      string
	args     []types.Value
	violated error // if set, the statement is a query, and violated is the error if the query returns a row
	// unchecked runs the statement without foreign keys: DROP TABLE otherwise deletes the rows that
	// refer to the table, too, if their key has ON DELETE CASCADE.
	unchecked bool
}

// defKey is the key of a row of sys_def.
type defKey struct {
	kind string
	id   int64
}

// The kinds of rows in sys_def. Objects use "object:" and their [Kind].
const (
	defDatabase   = "database"
	defSchema     = "schema"
	defObject     = "object:"
	defAlias      = "alias"
	defPrincipal  = "principal"
	defMember     = "members"     // all memberships in one row
	defPermission = "permissions" // all permissions in one row
	defCredential = "credential"
	defProperty   = "properties" // all extended properties in one row
	defLogin      = "login"
)

// Edit starts a change. now is a datetime: the creation or modification date of changed objects.
func (d *Database) Edit(now int64) *Edit {
	c := *d
	c.Version, c.origin = nextVersion(), nil
	c.schemas = maps.Clone(d.schemas)
	c.objects = maps.Clone(d.objects)
	c.byName = maps.Clone(d.byName)
	c.constraints = maps.Clone(d.constraints)
	c.conByName = maps.Clone(d.conByName)
	c.aliases = maps.Clone(d.aliases)
	c.Principals.byID = maps.Clone(d.Principals.byID)
	c.Principals.Memberships = slices.Clone(d.Principals.Memberships)
	c.Permissions = slices.Clone(d.Permissions)
	c.Properties = slices.Clone(d.Properties)
	c.credentials = maps.Clone(d.credentials)
	c.logins = maps.Clone(d.logins)
	return &Edit{db: &c, now: now, dirty: map[defKey]any{}, script: script{db: &c}}
}

// lastVersion is the newest version of any database of the process. Versions are never reused, not
// even after a rollback, so that caches keyed by versions cannot confuse two drafts.
var lastVersion atomic.Int64

// nextVersion returns a new version.
func nextVersion() int64 { return lastVersion.Add(1) }

// recordVersion records a version that was read from a file.
func recordVersion(v int64) {
	for last := lastVersion.Load(); v > last && !lastVersion.CompareAndSwap(last, v); last = lastVersion.Load() {
	}
}

// Database returns the database with the changes so far.
func (e *Edit) Database() *Database { return e.db }

// Clone returns a deep copy of a definition, made through its stored form. Cached values are not
// copied.
func Clone[T Table | Procedure | View | Function | Sequence | Principal | Login](v *T) *T {
	body, err := json.Marshal(v)
	out := new(T)
	if err == nil {
		err = json.Unmarshal(body, out)
	}
	if err != nil {
		// The definitions hold only strings, numbers, slices and maps with string keys.
		panic(fmt.Sprintf("catalog: definition cannot be copied: %v", err))
	}
	return out
}

// SetOptions replaces the database's options.
func (e *Edit) SetOptions(o Options) { e.db.Options = o; e.describe() }

// Rename renames the database. [Catalog.Publish] fails if the name is taken.
func (e *Edit) Rename(name string) { e.db.Name = name; e.describe() }

// SetOwner makes a login the owner of the database.
func (e *Edit) SetOwner(sid []byte) { e.db.OwnerID = sid; e.describe() }

// describe marks the row of the database itself as changed.
func (e *Edit) describe() {
	d := e.db
	e.dirty[defKey{defDatabase, int64(d.ID)}] = databaseRow{
		Name: d.Name, Created: d.Created, OwnerID: d.OwnerID, Options: d.Options,
	}
}

// AddSchema creates a schema.
func (e *Edit) AddSchema(name string, owner int) *Schema {
	s := &Schema{ID: e.db.next.Schema, Name: name, OwnerID: owner}
	e.db.next.Schema++
	e.putSchema(s)
	return s
}

// SetSchemaOwner changes the owner of a schema (ALTER AUTHORIZATION).
func (e *Edit) SetSchemaOwner(s *Schema, owner int) { e.putSchema(&Schema{s.ID, s.Name, owner}) }

// putSchema stores a schema.
func (e *Edit) putSchema(s *Schema) {
	e.db.schemas[e.db.names.Fold(s.Name)] = s
	e.dirty[defKey{defSchema, int64(s.ID)}] = s
}

// DropSchema removes a schema and the permissions on it. The schema must be empty.
func (e *Edit) DropSchema(s *Schema) error {
	for o := range e.db.Objects() {
		if o.Head().SchemaID == s.ID {
			return mserr.ReferencedByObject("drop schema", s.Name, o.Head().Name)
		}
	}
	for k := range e.db.aliases {
		if k.schema == s.ID {
			return mserr.ReferencedByObject("drop schema", s.Name, e.db.aliases[k].Name)
		}
	}
	delete(e.db.schemas, e.db.names.Fold(s.Name))
	e.dirty[defKey{defSchema, int64(s.ID)}] = nil
	e.revokeAll(func(p Permission) bool { return p.Class == ClassSchema && p.Major == s.ID })
	return nil
}

// NewID returns an object ID for a constraint, default or trigger. Put assigns the IDs of objects.
func (e *Edit) NewID() int32 {
	id := e.db.next.Object
	e.db.next.Object++
	return id
}

// Put creates an object other than a table (ObjectID 0), or replaces the object with the same
// ObjectID. It sets Header.Created and Header.Modified. If the schema or the name has changed, the
// object is moved.
func (e *Edit) Put(o Object) error {
	if _, ok := o.(*Table); ok {
		return fmt.Errorf("catalog: put table %q: use AddTable or ReplaceTable", o.Head().Name)
	}
	e.put(o)
	if s, ok := o.(*Sequence); ok {
		e.script.add(
			"INSERT INTO "+e.db.SQLName()+"."+SequenceTable+"(object_id, current, used) VALUES (?1, ?2, 0) ON CONFLICT DO NOTHING",
			int64(s.ObjectID), StoredSequence(s.Start))
	}
	return nil
}

// put stores an object in the maps and marks its row as changed.
func (e *Edit) put(o Object) {
	h := o.Head()
	if old := e.db.objects[h.ObjectID]; h.ObjectID != 0 && old != nil {
		e.unlink(old)
		h.Created = old.Head().Created
	} else {
		h.ObjectID = e.NewID()
		h.Created = e.now
	}
	h.Modified = e.now
	if v, ok := o.(*View); ok {
		e.completeTriggers(v.Triggers)
	}
	if tt, ok := o.(*TableType); ok && tt.UserTypeID == 0 {
		tt.UserTypeID = e.newUserType()
	}
	e.db.link(o)
	e.dirty[defKey{defObject + string(h.Kind), int64(h.ObjectID)}] = o
}

// newUserType returns a new user_type_id.
func (e *Edit) newUserType() int {
	id := e.db.next.UserType
	e.db.next.UserType++
	return id
}

// link adds an object and its constraints to the maps.
func (d *Database) link(o Object) {
	h := o.Head()
	d.objects[h.ObjectID] = o
	d.byName[d.keyOf(o)] = o
	for _, c := range constraintsOf(o) {
		d.constraints[c.ObjectID] = c
		d.conByName[objectKey{h.SchemaID, d.names.Fold(c.Name)}] = c
	}
}

// unlink removes an object and its constraints from the maps.
func (e *Edit) unlink(o Object) {
	h := o.Head()
	delete(e.db.objects, h.ObjectID)
	if e.db.byName[e.db.keyOf(o)] == o {
		delete(e.db.byName, e.db.keyOf(o))
	}
	for _, c := range constraintsOf(o) {
		delete(e.db.constraints, c.ObjectID)
		delete(e.db.conByName, objectKey{h.SchemaID, e.db.names.Fold(c.Name)})
	}
}

// keyOf returns the key of an object in the map of names.
func (d *Database) keyOf(o Object) objectKey {
	h := o.Head()
	if h.Kind == KindTableType {
		return objectKey{h.SchemaID, typePrefix + d.names.Fold(h.Name)}
	}
	return objectKey{h.SchemaID, d.names.Fold(h.Name)}
}

// Constraints returns the constraints, defaults and triggers of a table.
func (t *Table) Constraints() []Constraint {
	var out []Constraint
	add := func(id int32, name string, kind Kind) {
		out = append(out, Constraint{Table: t.ObjectID, ObjectID: id, Name: name, Kind: kind})
	}
	for _, ix := range t.Indexes {
		switch {
		case ix.Key == nil:
		case ix.Key.Primary:
			add(ix.Key.ObjectID, ix.Key.Name, KindPrimaryKey)
		default:
			add(ix.Key.ObjectID, ix.Key.Name, KindUnique)
		}
	}
	for _, f := range t.ForeignKeys {
		add(f.ObjectID, f.Name, KindForeignKey)
	}
	for _, c := range t.Checks {
		add(c.ObjectID, c.Name, KindCheck)
	}
	for _, c := range t.Columns {
		if c.Default != nil {
			add(c.Default.ObjectID, c.Default.Name, KindDefault)
		}
	}
	return append(out, triggersAs(t)...)
}

// triggersAs returns the triggers of a table or view as constraints.
func triggersAs(o Object) []Constraint {
	var out []Constraint
	for _, tr := range Triggers(o) {
		out = append(out, Constraint{Table: o.Head().ObjectID, ObjectID: tr.ObjectID, Name: tr.Name, Kind: KindTrigger})
	}
	return out
}

// constraintsOf returns the constraints and triggers of an object.
func constraintsOf(o Object) []Constraint {
	if t, ok := o.(*Table); ok {
		return t.Constraints()
	}
	return triggersAs(o)
}

// Drop removes an object and the permissions on it. The caller checks for dependent objects.
func (e *Edit) Drop(o Object) {
	h := o.Head()
	e.unlink(o)
	e.dirty[defKey{defObject + string(h.Kind), int64(h.ObjectID)}] = nil
	e.revokeAll(func(p Permission) bool { return p.Class == ClassObject && p.Major == int(h.ObjectID) })
	switch o := o.(type) {
	case *Table:
		e.script.add("DROP TABLE " + e.db.SQLName() + "." + o.SQLName)
		e.script.add("DELETE FROM "+e.db.SQLName()+"."+IdentityTable+" WHERE object_id = ?1", int64(h.ObjectID))
	case *Sequence:
		e.script.add("DELETE FROM "+e.db.SQLName()+"."+SequenceTable+" WHERE object_id = ?1", int64(h.ObjectID))
	}
}

// add appends a SQLite statement.
func (s *script) add(sql string, args ...types.Value) {
	s.steps = append(s.steps, step{sql: sql, args: args})
}

// PutAlias creates an alias type.
func (e *Edit) PutAlias(a *AliasType) {
	if a.UserTypeID == 0 {
		a.UserTypeID = e.newUserType()
	}
	e.db.aliases[objectKey{a.SchemaID, e.db.names.Fold(a.Name)}] = a
	e.dirty[defKey{defAlias, int64(a.UserTypeID)}] = a
}

// DropAlias removes an alias type.
func (e *Edit) DropAlias(a *AliasType) {
	delete(e.db.aliases, objectKey{a.SchemaID, e.db.names.Fold(a.Name)})
	e.dirty[defKey{defAlias, int64(a.UserTypeID)}] = nil
}

// PutPrincipal creates a user or role (ID 0), or replaces the principal with the same ID.
func (e *Edit) PutPrincipal(p *Principal) {
	if p.ID == 0 && p.Name != "public" {
		p.ID = e.db.next.Principal
		e.db.next.Principal++
		p.Created = e.now
	}
	p.Modified = e.now
	e.db.Principals.byID[p.ID] = p
	e.dirty[defKey{defPrincipal, int64(p.ID)}] = p
}

// DropPrincipal removes a user or role, its memberships and its permissions.
func (e *Edit) DropPrincipal(p *Principal) {
	delete(e.db.Principals.byID, p.ID)
	e.dirty[defKey{defPrincipal, int64(p.ID)}] = nil
	e.setMembers(slices.DeleteFunc(e.db.Principals.Memberships, func(m Membership) bool { return m.Member == p.ID || m.Role == p.ID }))
	e.revokeAll(func(r Permission) bool { return r.Grantee == p.ID || r.Class == ClassPrincipal && r.Major == p.ID })
}

// AddMember adds a member to a role, unless it is a member already.
func (e *Edit) AddMember(role, member int) {
	if m := (Membership{role, member}); !slices.Contains(e.db.Principals.Memberships, m) {
		e.setMembers(append(e.db.Principals.Memberships, m))
	}
}

// DropMember removes a member from a role.
func (e *Edit) DropMember(role, member int) {
	e.setMembers(slices.DeleteFunc(e.db.Principals.Memberships, func(m Membership) bool { return m == Membership{role, member} }))
}

// setMembers replaces the memberships.
func (e *Edit) setMembers(all []Membership) {
	e.db.Principals.Memberships = all
	e.dirty[defKey{defMember, 0}] = all
}

// SetPermission grants or denies permissions, which must differ. It replaces earlier grants and
// denials.
func (e *Edit) SetPermission(list ...Permission) {
	e.Revoke(list...)
	e.db.Permissions = append(e.db.Permissions, list...)
	e.dirty[defKey{defPermission, 0}] = e.db.Permissions
}

// Revoke removes grants or denials on exactly these securables. It looks at each row once.
func (e *Edit) Revoke(list ...Permission) {
	gone := make(map[permissionKey]bool, len(list))
	for _, p := range list {
		gone[p.key()] = true
	}
	e.revokeAll(func(p Permission) bool { return gone[p.key()] })
}

// permissionKey is what only one row of permissions has.
type permissionKey struct {
	Securable
	grantee int
	name    string
}

func (p Permission) key() permissionKey { return permissionKey{p.Securable, p.Grantee, p.Name} }

// revokeAll removes the permissions for which match is true.
func (e *Edit) revokeAll(match func(Permission) bool) {
	n := len(e.db.Permissions)
	e.db.Permissions = slices.DeleteFunc(e.db.Permissions, match)
	if len(e.db.Permissions) != n {
		e.dirty[defKey{defPermission, 0}] = e.db.Permissions
	}
}

// PutCredential creates or replaces a database-scoped credential. It assigns the ID of a new one.
func (e *Edit) PutCredential(c *Credential) {
	if c.ID == 0 {
		for _, o := range e.db.credentials {
			c.ID = max(c.ID, o.ID)
		}
		c.ID++
		c.Created = e.now
	}
	c.Modified = e.now
	e.db.credentials[Fold(c.Name)] = c
	e.dirty[defKey{defCredential, int64(c.ID)}] = c
}

// DropCredential removes a database-scoped credential.
func (e *Edit) DropCredential(c *Credential) {
	delete(e.db.credentials, Fold(c.Name))
	e.dirty[defKey{defCredential, int64(c.ID)}] = nil
}

// PutLogin creates a login (ID 0) or replaces it. The Edit must be one of master.
func (e *Edit) PutLogin(l *Login) error {
	if e.db.ID != DatabaseMaster {
		return fmt.Errorf("catalog: login %q belongs in master", l.Name)
	}
	if l.ID == 0 {
		l.ID = e.db.next.Login
		e.db.next.Login++
		l.Created = e.now
		if l.SID == nil {
			l.SID = newSID()
		}
	}
	l.Modified = e.now
	for name, o := range e.db.logins {
		if o.ID == l.ID {
			delete(e.db.logins, name)
		}
	}
	e.db.logins[Fold(l.Name)] = l
	e.dirty[defKey{defLogin, int64(l.ID)}] = l
	return nil
}

// DropLogin removes a login.
func (e *Edit) DropLogin(l *Login) {
	delete(e.db.logins, Fold(l.Name))
	e.dirty[defKey{defLogin, int64(l.ID)}] = nil
}

// SystemName returns a name for a constraint without a name in the style of SQL Server:
// PK__table__0123456789ABCDEF or CK__table__column__01234567. Table and column names are cut to 8,
// or to 9 and 5 characters.
func SystemName(prefix, table, column string, id int32) string {
	cut := func(s string, n int) string {
		r := []rune(s)
		return string(r[:min(len(r), n)])
	}
	tail := fmt.Sprintf("%08X%08X", uint32(id)*2654435761, uint32(id))
	if column == "" {
		return prefix + "__" + cut(table, 8) + "__" + tail
	}
	return prefix + "__" + cut(table, 9) + "__" + cut(column, 5) + "__" + tail[8:]
}

// tableName returns the SQLite name of a table.
func tableName(id int32) string { return "t" + strconv.Itoa(int(id)) }
