package exec

import (
	"container/list"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// unit is a parsed and checked text together with cached results of its execution. All sessions
// share units. The fields guarded by mu are only a cache.
type unit struct {
	text   string // text of a batch; "" for modules
	body   []syntax.Stmt
	params []*syntax.Param
	decls  []*syntax.VarDecl // declared variables, in source order
	// declared maps a declaration to its index in decls.
	declared map[*syntax.VarDecl]int
	returns  types.Type // return type of a scalar function, otherwise zero
	table    bool       // true for a multi-statement table-valued function
	// tableVar is the name of the result variable of such a function, with '@'.
	tableVar string

	mu     sync.Mutex
	plans  map[planKey][]*cachedPlan
	shapes map[shapeKey]*catalog.Table
	scopes map[scopeKey]*varTypes

	bytes atomic.Int64 // approximate size of the unit including plans

	// writes is set when a transaction in which the unit took shared locks has written to the same
	// database: see [session.Transactions.LockShared].
	writes atomic.Bool

	compounds map[*syntax.SetVarStmt]syntax.Expr // see run.compound
}

// scalar reports whether the unit is the body of a scalar function.
func (u *unit) scalar() bool { return u.returns.ID != 0 }

// planKey identifies the plans of a statement or expression.
type planKey struct {
	node syntax.Node
	to   types.Type // target type of an expression
	kind planKind
	rows int64 // SET ROWCOUNT, of a plan that changes data
	step compile.CursorStep
	part compile.CursorPart
	// checked is set for WHERE CURRENT OF an OPTIMISTIC cursor.
	checked bool
}

// planKind distinguishes the plans of one node.
type planKind uint8

const (
	planQuery planKind = iota
	planScalar
	planCondition
	planChange
	planBrowse // query in browse mode
	planCursor
)

// maxVariants limits the number of plans of one node. Sessions in different databases, or with
// temporary tables of different shapes, need different plans.
const maxVariants = 8

// snapshot is a version of a database's catalog. It is weak: a cached batch, which may never run
// again, does not keep a catalog that a later statement has replaced.
type snapshot = weak.Pointer[catalog.Database]

// cachedPlan is a plan together with the state on which it depends.
type cachedPlan struct {
	plan      any
	snaps     []snapshot // the current database's first
	local     []*catalog.Table
	database  int
	schema    string
	identity  *session.IdentityInsert
	depth     int // function depth
	locale    types.Locale
	instead   int32 // INSTEAD OF trigger whose statement it is, 0 for none
	truncates bool  // compiled with ANSI_WARNINGS OFF
}

// shapeKey identifies the definition of a temporary table or table variable that a statement
// creates. Executions that share the definition can share plans.
type shapeKey struct {
	node  syntax.Node
	level int
	db    snapshot // in which the types were resolved
	// source is the caller's table behind a table-valued parameter, otherwise nil.
	source *catalog.Table
}

// scopeKey identifies the types of a unit's variables. The types may be alias types of the
// database.
type scopeKey struct {
	db     snapshot
	schema string
}

// varTypes holds the resolved types of parameters and declared variables, by position.
type varTypes struct {
	params []resolvedType
	decls  []resolvedType
}

// resolvedType is the result of a lookup of a type name.
type resolvedType struct {
	typ   types.Type
	table *catalog.TableType // set for a table type
	err   error
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

// unitCache holds parsed batches, most recently used first. The zero value is ready for use.
type unitCache struct {
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
	unit  *unit
	bytes int64 // size of unit as counted in unitCache.bytes
}

// batch parses a batch.
func (c *unitCache) batch(m *meter.Meter, text string, quoted bool) (*unit, error) {
	return c.get(m, unitKey{text: text, quoted: quoted})
}

// dynamic parses a text with a declaration of parameters as in sp_executesql.
func (c *unitCache) dynamic(m *meter.Meter, text, params string, quoted bool) (*unit, error) {
	return c.get(m, unitKey{text: text, params: strings.TrimSpace(params), quoted: quoted})
}

// get returns the cached unit of a text, or parses the text. Texts with errors and very long texts
// are not cached; m accounts for the memory of a unit that is not cached.
func (c *unitCache) get(m *meter.Meter, key unitKey) (*unit, error) {
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
func (c *unitCache) updateSize(e *unitEntry) {
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
func parseUnit(m *meter.Meter, key unitKey) (*unit, error) {
	opt := syntax.Options{QuotedIdentifier: key.quoted, Meter: m}
	b, err := syntax.Parse(key.text, opt)
	if err != nil {
		return nil, err
	}
	u := &unit{text: key.text, body: b.Stmts}
	u.bytes.Store(int64(b.Bytes))
	if key.params != "" {
		if u.params, err = syntax.ParseParams(key.params, opt); err != nil {
			return nil, err
		}
	}
	return u, u.check(m)
}

// procedureUnit returns the unit of a procedure. The definition of the procedure caches it.
func procedureUnit(p *catalog.Procedure) (*unit, error) {
	v, err := p.Memo.Get(func() (any, error) {
		st, err := module.Parse(&p.Module)
		if err != nil {
			return nil, err
		}
		proc, ok := st.(*syntax.CreateProcedureStmt)
		if !ok {
			return nil, mserr.NotSupported("the stored text of procedure %s", p.Name)
		}
		u := &unit{body: proc.Body, params: proc.Params}
		return u, u.check(nil)
	})
	if err != nil {
		return nil, err
	}
	return v.(*unit), nil
}

// find returns a cached plan that fits the session's view, or nil.
func (u *unit) find(r *run, key planKey) any {
	u.mu.Lock()
	variants := u.plans[key]
	u.mu.Unlock()
	for i := len(variants) - 1; i >= 0; i-- {
		if p := variants[i]; p.fits(r) {
			return p.plan
		}
	}
	return nil
}

// fits reports whether a cached plan, which may come from another session, is valid for r now.
func (p *cachedPlan) fits(r *run) bool {
	s := r.s
	if p.database != s.DatabaseID || p.schema != r.f.schema || p.depth != s.functionDepth || p.locale != s.Options.Locale ||
		p.truncates == s.Options.AnsiWarnings || !sameIdentityInsert(p.identity, s.Options.IdentityInsert) ||
		p.instead != r.firingInstead() {
		return false
	}
	for _, snap := range p.snaps {
		if d := snap.Value(); d == nil || s.DatabaseByID(d.ID) != d {
			return false
		}
	}
	for _, t := range p.local {
		if r.localTable(t.Name) != t {
			return false
		}
	}
	return true
}

// sameIdentityInsert reports whether two settings of IDENTITY_INSERT are equal.
func sameIdentityInsert(a, b *session.IdentityInsert) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// keep caches a plan, and takes the list of catalogs out of needs, which would keep them.
func (u *unit) keep(r *run, key planKey, plan any, needs *compile.Needs) {
	p := &cachedPlan{
		plan: plan, database: r.s.DatabaseID, schema: r.f.schema, identity: r.s.Options.IdentityInsert, depth: r.s.functionDepth,
		locale: r.s.Options.Locale, truncates: !r.s.Options.AnsiWarnings, instead: r.firingInstead(),
	}
	if needs.Volatile {
		return
	}
	if d := r.s.DatabaseByID(r.s.DatabaseID); d != nil {
		p.snaps = append(p.snaps, weak.Make(d))
	}
	for _, d := range needs.Snapshots {
		p.snaps = append(p.snaps, weak.Make(d))
	}
	p.local, needs.Snapshots = needs.Local, nil
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.plans == nil {
		u.plans = map[planKey][]*cachedPlan{}
	}
	if len(u.plans) >= maxPlans && u.plans[key] == nil {
		return
	}
	u.bytes.Add(planBytes)
	var variants []*cachedPlan
	for _, old := range u.plans[key] {
		// Plans for an older version of this database will never fit again.
		if old.database != p.database || len(old.snaps) == 0 || len(p.snaps) == 0 || old.snaps[0] == p.snaps[0] {
			variants = append(variants, old)
		}
	}
	if len(variants) >= maxVariants {
		variants = variants[1:]
	}
	u.plans[key] = append(variants, p)
}
