package unit

import (
	"container/list"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Unit is a parsed and checked text together with cached results of its execution. All sessions
// share units. The fields guarded by mu are only a cache.
type Unit struct {
	Text   string // text of a batch; "" for modules
	Body   []syntax.Stmt
	Params []*syntax.Param
	Decls  []*syntax.VarDecl // declared variables, in source order
	// Declared maps a declaration to its index in decls.
	Declared map[*syntax.VarDecl]int
	Returns  types.Type // return type of a scalar function, otherwise zero
	IsTable  bool       // true for a multi-statement table-valued function
	// TableVar is the name of the result variable of such a function, with '@'.
	TableVar string

	own    results  // of any definitions of the database
	shared *results // of the definitions of an image, see Unit.Share

	bytes atomic.Int64 // approximate size of the unit including plans

	// Writes is set when a transaction in which the unit took shared locks has written to the same
	// database: see [session.Transactions.LockShared].
	Writes atomic.Bool
}

// results are cached results of the execution of units with the same tree.
type results struct {
	mu     sync.Mutex
	plans  map[PlanKey][]*cachedPlan
	shapes map[ShapeKey]*catalog.Table
	scopes map[ScopeKey]*VarTypes

	compounds map[*syntax.SetVarStmt]syntax.Expr // see Unit.Compound
}

// Share makes the unit of a module share its plans with the units of other databases, of this
// server or another one, that have the same definitions: see [catalog.Database.Origin].
func (u *Unit) Share(m *catalog.Module) {
	if m.Plans == nil {
		return
	}
	if v, err := m.Plans.Get(func() (any, error) { return &results{}, nil }); err == nil {
		u.shared = v.(*results)
	}
}

// resultsOf returns the cache for a version of the current database with an origin, or nil.
func (u *Unit) resultsOf(o *catalog.Origin) *results {
	if o != nil && u.shared != nil {
		return u.shared
	}
	return &u.own
}

// PlanKey identifies the plans of a statement or expression.
type PlanKey struct {
	Node syntax.Node
	To   types.Type // target type of an expression
	Kind PlanKind
	Rows int64 // SET ROWCOUNT, of a plan that changes data
	Step plan.CursorStep
	Part plan.CursorPart
	// Checked is set for WHERE CURRENT OF an OPTIMISTIC cursor.
	Checked bool
}

// PlanKind distinguishes the plans of one node.
type PlanKind uint8

const (
	PlanQuery     PlanKind = iota // a query
	PlanScalar                    // an expression
	PlanCondition                 // the condition of IF or WHILE
	PlanChange                    // a statement that changes rows
	PlanBrowse                    // query in browse mode
	PlanCursor                    // a step of a cursor
)

// maxVariants limits the number of plans of one node. Sessions in different databases, or with
// temporary tables of different shapes, need different plans.
const maxVariants = 8

// Snapshot identifies a version of a database's catalog. It is weak: a cached batch, which may
// never run again, does not keep a catalog that a later statement has replaced.
type Snapshot struct {
	id     int
	name   string                         // with an origin only
	origin *catalog.Origin                // see [catalog.Database.Origin]
	weak   weak.Pointer[catalog.Database] // without an origin
}

// SnapshotOf returns the snapshot of a catalog; that of nil is the zero value.
func SnapshotOf(d *catalog.Database) Snapshot {
	switch {
	case d == nil:
		return Snapshot{}
	case d.Origin() != nil:
		return Snapshot{id: d.ID, name: d.Name, origin: d.Origin()}
	}
	return Snapshot{id: d.ID, weak: weak.Make(d)}
}

// is reports whether the snapshot is that of a catalog.
func (s Snapshot) is(d *catalog.Database) bool {
	switch {
	case d == nil:
		return false
	case s.origin != nil:
		return d.Origin() == s.origin && d.Name == s.name
	}
	return s.weak.Value() == d
}

// cachedPlan is a plan together with the state on which it depends.
type cachedPlan struct {
	plan      any
	snaps     []Snapshot // the current database's first
	local     []*catalog.Table
	database  int
	schema    string
	identity  *session.IdentityInsert
	depth     int // function depth
	locale    types.Locale
	instead   int32 // INSTEAD OF trigger whose statement it is, 0 for none
	truncates bool  // compiled with ANSI_WARNINGS OFF
}

// ShapeKey identifies the definition of a temporary table or table variable that a statement
// creates. Executions that share the definition can share plans.
type ShapeKey struct {
	Node     syntax.Node
	Level    int
	Database Snapshot // in which the types were resolved
	// Source is the caller's table behind a table-valued parameter, otherwise nil.
	Source *catalog.Table
}

// ScopeKey identifies the types of a unit's variables. The types may be alias types of the
// database.
type ScopeKey struct {
	Database Snapshot
	Schema   string
}

// VarTypes holds the resolved types of parameters and declared variables, by position.
type VarTypes struct {
	Params []ResolvedType
	Decls  []ResolvedType
}

// ResolvedType is the result of a lookup of a type name.
type ResolvedType struct {
	Type  types.Type
	Table *catalog.TableType // set for a table type
	Err   error
}

const (
	// maxUnits and maxUnitBytes limit the cache of parsed batches of an instance, plans included.
	maxUnits     = 2000
	maxUnitBytes = 128 << 20
	// maxKeptText is the maximum length of a cached text, in bytes.
	maxKeptText = 512 << 10
	// maxPlans limits the number of nodes of a unit with cached plans. Statements of longer texts
	// usually run only once.
	maxPlans = 4096
	// planBytes is the approximate size of a plan.
	planBytes = 3 << 10
)

// Cache holds parsed batches, most recently used first. The zero value is ready for use.
type Cache struct {
	mu    sync.Mutex
	byKey map[unitKey]*list.Element
	order list.List // *unitEntry values
	bytes int64
}

// unitKey is a text together with the settings that change its meaning.
type unitKey struct {
	text, params string
	quoted       bool
}

// unitEntry is a cached unit.
type unitEntry struct {
	key   unitKey
	unit  *Unit
	bytes int64 // size of unit as counted in Cache.bytes
}

// Batch parses a batch.
func (c *Cache) Batch(m *meter.Meter, text string, quoted bool) (*Unit, error) {
	return c.get(m, unitKey{text: text, quoted: quoted})
}

// Dynamic parses a text with a declaration of parameters as in sp_executesql.
func (c *Cache) Dynamic(m *meter.Meter, text, params string, quoted bool) (*Unit, error) {
	return c.get(m, unitKey{text: text, params: strings.TrimSpace(params), quoted: quoted})
}

// get returns the cached unit of a text, or parses the text. Texts with errors and very long texts
// are not cached; m accounts for the memory of a unit that is not cached.
func (c *Cache) get(m *meter.Meter, key unitKey) (*Unit, error) {
	if len(key.text) <= maxKeptText {
		c.mu.Lock()
		if el, ok := c.byKey[key]; ok {
			c.order.MoveToFront(el)
			c.updateSize(el.Value.(*unitEntry))
			c.mu.Unlock()
			return el.Value.(*unitEntry).unit, nil
		}
		c.mu.Unlock()
	}
	mark := m.Mark()
	u, err := parseUnit(m, key)
	if err != nil {
		m.Release(mark)
		return nil, err
	}
	if len(key.text) > maxKeptText {
		return u, nil
	}
	m.Release(mark)
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.byKey[key]; ok {
		return el.Value.(*unitEntry).unit, nil
	}
	if c.byKey == nil {
		c.byKey = map[unitKey]*list.Element{}
	}
	e := &unitEntry{key: key, unit: u}
	c.byKey[key] = c.order.PushFront(e)
	c.updateSize(e)
	return u, nil
}

// updateSize updates the size of a unit, which grows with its plans, and evicts the least recently
// used units while the cache is too large. c.mu must be held.
func (c *Cache) updateSize(e *unitEntry) {
	now := e.unit.bytes.Load()
	c.bytes += now - e.bytes
	e.bytes = now
	for c.order.Len() > maxUnits || c.bytes > maxUnitBytes && c.order.Len() > 1 {
		old := c.order.Remove(c.order.Back()).(*unitEntry)
		delete(c.byKey, old.key)
		c.bytes -= old.bytes
	}
}

// parseUnit parses a batch and its parameters.
func parseUnit(m *meter.Meter, key unitKey) (*Unit, error) {
	opt := parser.Options{QuotedIdentifier: key.quoted, Meter: m}
	b, err := parser.Parse(key.text, opt)
	if err != nil {
		return nil, err
	}
	u := &Unit{Text: key.text, Body: b.Stmts}
	u.bytes.Store(int64(b.Bytes))
	if key.params != "" {
		if u.Params, err = parser.ParseParams(key.params, opt); err != nil {
			return nil, err
		}
	}
	return u, u.Check(m)
}

// Procedure returns the unit of a procedure. The definition of the procedure caches it.
func Procedure(p *catalog.Procedure) (*Unit, error) {
	v, err := p.Memo.Get(func() (any, error) {
		st, err := module.Parse(&p.Module)
		if err != nil {
			return nil, err
		}
		proc, ok := st.(*syntax.CreateProcedureStmt)
		if !ok {
			return nil, mserr.NotSupported("the stored text of procedure %s", p.Name)
		}
		u := &Unit{Body: proc.Body, Params: proc.Params}
		u.Share(&p.Module)
		return u, u.Check(nil)
	})
	if err != nil {
		return nil, err
	}
	return v.(*Unit), nil
}

// Scope is the scope of the running statement, on which plans depend beside the session.
type Scope interface {
	// DefaultSchema returns the schema of names without one.
	DefaultSchema() string
	// FunctionDepth returns the depth of calls of functions.
	FunctionDepth() int
	// FiringInstead returns the INSTEAD OF trigger whose statement runs, 0 for none.
	FiringInstead() int32
	// LocalTable returns the temporary table or table variable with a name, or nil.
	LocalTable(name string) *catalog.Table
}

// Find returns a cached plan that fits the session's view, or nil.
func (u *Unit) Find(s *session.Session, sc Scope, key PlanKey) any {
	r := u.resultsOf(s.DatabaseByID(s.DatabaseID).Origin())
	r.mu.Lock()
	variants := r.plans[key]
	r.mu.Unlock()
	for i := len(variants) - 1; i >= 0; i-- {
		if p := variants[i]; p.fits(s, sc) {
			return p.plan
		}
	}
	return nil
}

// fits reports whether a cached plan, which may come from another session, is valid now.
func (p *cachedPlan) fits(s *session.Session, sc Scope) bool {
	if p.database != s.DatabaseID || p.schema != sc.DefaultSchema() || p.depth != sc.FunctionDepth() || p.locale != s.Options.Locale ||
		p.truncates == s.Options.AnsiWarnings || !sameIdentityInsert(p.identity, s.Options.IdentityInsert) ||
		p.instead != sc.FiringInstead() {
		return false
	}
	for _, snap := range p.snaps {
		if !snap.is(s.DatabaseByID(snap.id)) {
			return false
		}
	}
	for _, t := range p.local {
		if sc.LocalTable(t.Name) != t {
			return false
		}
	}
	return true
}

// sameIdentityInsert reports whether two settings of IDENTITY_INSERT are equal.
func sameIdentityInsert(a, b *session.IdentityInsert) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// Keep caches a plan, and takes the list of catalogs out of needs, which would keep them.
func (u *Unit) Keep(s *session.Session, sc Scope, key PlanKey, compiled any, needs *plan.Needs) {
	p := &cachedPlan{
		plan: compiled, database: s.DatabaseID, schema: sc.DefaultSchema(), identity: s.Options.IdentityInsert, depth: sc.FunctionDepth(),
		locale: s.Options.Locale, truncates: !s.Options.AnsiWarnings, instead: sc.FiringInstead(),
	}
	if d := s.DatabaseByID(s.DatabaseID); d != nil {
		p.snaps = append(p.snaps, SnapshotOf(d))
	}
	for _, d := range needs.Snapshots {
		p.snaps = append(p.snaps, SnapshotOf(d))
	}
	p.local, needs.Snapshots = needs.Local, nil
	r := u.resultsOf(s.DatabaseByID(s.DatabaseID).Origin())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plans == nil {
		r.plans = map[PlanKey][]*cachedPlan{}
	}
	if len(r.plans) >= maxPlans && r.plans[key] == nil {
		return
	}
	u.bytes.Add(planBytes)
	var variants []*cachedPlan
	for _, old := range r.plans[key] {
		// Plans for an older version of this database will never fit again.
		if old.database != p.database || len(old.snaps) == 0 || len(p.snaps) == 0 || old.snaps[0] == p.snaps[0] {
			variants = append(variants, old)
		}
	}
	if len(variants) >= maxVariants {
		variants = variants[1:]
	}
	r.plans[key] = append(variants, p)
}

// Shape returns the cached definition of a table, or the one that build returns, which is then
// cached.
func (u *Unit) Shape(key ShapeKey, build func() (*catalog.Table, error)) (*catalog.Table, error) {
	r := u.resultsOf(key.Database.origin)
	r.mu.Lock()
	t := r.shapes[key]
	r.mu.Unlock()
	if t != nil {
		return t, nil
	}
	t, err := build()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.shapes) > 4*maxVariants || r.shapes == nil {
		r.shapes = map[ShapeKey]*catalog.Table{}
	}
	if first := r.shapes[key]; first != nil {
		return first, nil // plans refer to it
	}
	r.shapes[key] = t
	return t, nil
}

// Types returns the cached types of the variables, or those that build returns. They are cached if
// they are complete: no cache keeps a cancellation.
func (u *Unit) Types(key ScopeKey, build func() (vt *VarTypes, complete bool)) *VarTypes {
	r := u.resultsOf(key.Database.origin)
	r.mu.Lock()
	vt := r.scopes[key]
	r.mu.Unlock()
	if vt != nil {
		return vt
	}
	vt, complete := build()
	if !complete {
		return vt
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.scopes) > maxVariants || r.scopes == nil {
		r.scopes = map[ScopeKey]*VarTypes{}
	}
	r.scopes[key] = vt
	return vt
}

// Compound returns the expression "@v op x" of a compound assignment. The unit caches it.
func (u *Unit) Compound(st *syntax.SetVarStmt) syntax.Expr {
	r := &u.own
	if u.shared != nil { // the plans of the expression are there, too
		r = u.shared
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.compounds[st]; ok {
		return e
	}
	if r.compounds == nil {
		r.compounds = map[*syntax.SetVarStmt]syntax.Expr{}
	}
	e := &syntax.BinaryExpr{Op: st.Op, X: &syntax.VarRef{Name: st.Name}, Y: &syntax.ParenExpr{X: st.Value}}
	r.compounds[st] = e
	return e
}

// Check finds the errors that SQL Server reports before the first statement of the unit runs, and
// collects the declarations.
func (u *Unit) Check(m *meter.Meter) error {
	d, err := module.Check(m, u.Params, u.TableVar, u.Text == "" && !u.IsTable, u.Body)
	if err != nil {
		return err
	}
	u.Decls, u.Declared = d.List, d.Index
	return nil
}
