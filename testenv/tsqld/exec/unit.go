package exec

import (
	"container/list"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// unit is a text that was parsed and checked, with what was found out about it while it ran. Units are
// shared by all sessions; what is under mu is only a cache.
type unit struct {
	text   string // of a batch; "" for modules
	body   []syntax.Stmt
	params []*syntax.Param
	decls  []*syntax.VarDecl // variables, in order of declaration
	// declared are the positions in decls.
	declared map[*syntax.VarDecl]int
	returns  types.Type // of a scalar function, else zero
	table    bool       // a multi-statement function
	// tableVar is the name of its result variable, with '@'.
	tableVar string

	mu     sync.Mutex
	plans  map[planKey][]*cachedPlan
	shapes map[shapeKey]*catalog.Table
	scopes map[scopeKey]*varTypes

	bytes atomic.Int64 // about what the unit takes, plans included

	// writes says that a transaction in which the text took shared locks has written to the same database: see [Session.share].
	writes atomic.Bool

	compounds map[*syntax.SetVarStmt]syntax.Expr // see run.compound
}

// scalar reports whether the unit is the body of a scalar function.
func (u *unit) scalar() bool { return u.returns.ID != 0 }

// planKey finds the plans of a statement or expression.
type planKey struct {
	node syntax.Node
	to   types.Type // an expression is converted to it
	kind planKind
}

// planKind tells apart the plans that one node can have.
type planKind uint8

const (
	planQuery planKind = iota
	planScalar
	planCondition
	planChange
	planRows   // of InsertRows
	planBrowse // of a query in browse mode
)

// maxVariants bounds the plans that are kept for one node, for sessions in different databases or with temporary
// tables of different shapes.
const maxVariants = 8

// cachedPlan is a plan with what it was made for.
type cachedPlan struct {
	plan     any
	snaps    []*catalog.Database
	local    []*catalog.Table
	database int
	schema   string
	identity *identityInsert
	depth    int // of functions
	locale   types.Locale
	cuts     bool // ANSI_WARNINGS was OFF
}

// shapeKey finds the definition of a temporary table or table variable that a statement makes, so that plans
// over it can be shared.
type shapeKey struct {
	node  syntax.Node
	level int
	db    *catalog.Database // in which its types were resolved
	// source is the caller's table that a table-valued parameter stands for; nil otherwise.
	source *catalog.Table
}

// scopeKey finds the types of a unit's variables, which may be alias types of the database.
type scopeKey struct {
	db     *catalog.Database
	schema string
}

// varTypes are the resolved types of parameters and declared variables, by position.
type varTypes struct {
	params []resolvedType
	decls  []resolvedType
}

// resolvedType is a type name that was looked up.
type resolvedType struct {
	typ   types.Type
	table *catalog.TableType // set for a table type
	err   error
}

const (
	// maxUnits and maxUnitBytes bound the parsed batches that an instance keeps, with their plans.
	maxUnits     = 2000
	maxUnitBytes = 128 << 20
	// maxKeptText is the longest text, in bytes, whose unit is kept.
	maxKeptText = 512 << 10
	// maxPlans bounds the nodes of a unit whose plans are kept: longer texts than that run from one end to the other.
	maxPlans = 4096
	// planBytes is about what a plan takes.
	planBytes = 3 << 10
)

// unitCache keeps parsed batches, least recently used last. The zero cache is ready for use.
type unitCache struct {
	mu    sync.Mutex
	byKey map[unitKey]*list.Element
	order list.List // of *unitEntry
	bytes int64
}

// unitKey is a text with what its meaning depends on.
type unitKey struct {
	text, params string
	quoted       bool
}

// unitEntry is a cached unit.
type unitEntry struct {
	key   unitKey
	unit  *unit
	bytes int64 // of unit, as counted in the cache
}

// batch parses a batch.
func (c *unitCache) batch(m *meter.Meter, text string, quoted bool) (*unit, error) {
	return c.get(m, unitKey{text: text, quoted: quoted})
}

// dynamic parses a text with parameters declared as for sp_executesql.
func (c *unitCache) dynamic(m *meter.Meter, text, params string, quoted bool) (*unit, error) {
	return c.get(m, unitKey{text: text, params: strings.TrimSpace(params), quoted: quoted})
}

// get finds or parses a unit. Texts with errors, and very long ones, are not kept; what those take is the session's, of m.
func (c *unitCache) get(m *meter.Meter, key unitKey) (*unit, error) {
	if len(key.text) <= maxKeptText {
		c.mu.Lock()
		if el, ok := c.byKey[key]; ok {
			c.order.MoveToFront(el)
			c.weigh(el.Value.(*unitEntry))
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
	c.weigh(e)
	return u, nil
}

// weigh takes note of what a unit takes now, which its plans make more while it is used, and lets the oldest ones go when all of
// them take too much. c.mu must be held.
func (c *unitCache) weigh(e *unitEntry) {
	now := e.unit.bytes.Load()
	c.bytes += now - e.bytes
	e.bytes = now
	for c.order.Len() > maxUnits || c.bytes > maxUnitBytes && c.order.Len() > 1 {
		old := c.order.Remove(c.order.Back()).(*unitEntry)
		delete(c.byKey, old.key)
		c.bytes -= old.bytes
	}
}

// parseUnit parses a batch, with its parameters if it has any.
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

// procedureUnit is the parsed form of a procedure, kept with its definition.
func procedureUnit(p *catalog.Procedure) (*unit, error) {
	v, err := p.Memo.Get(func() (any, error) {
		st, err := parseModule(&p.Module)
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

// parseModule parses the text of a module, which is its last statement.
func parseModule(m *catalog.Module) (syntax.Stmt, error) {
	b, err := syntax.Parse(m.Text, syntax.Options{QuotedIdentifier: m.QuotedIdentifier})
	if err != nil {
		return nil, err
	}
	if len(b.Stmts) == 0 {
		return nil, mserr.NotSupported("a module without a text")
	}
	return b.Stmts[len(b.Stmts)-1], nil
}

// find returns a plan that fits the session's view; nil if there is none.
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

// fits reports whether a plan made earlier, perhaps for another session, is right here and now.
func (p *cachedPlan) fits(r *run) bool {
	s := r.s
	if p.database != s.dbID || p.schema != r.f.schema || p.depth != s.functionDepth || p.locale != s.opts.locale || p.cuts == s.opts.ansiWarnings || !sameIdentityInsert(p.identity, s.opts.identityInsert) {
		return false
	}
	for _, d := range p.snaps {
		if s.databaseByID(d.ID) != d {
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

// sameIdentityInsert compares settings of IDENTITY_INSERT.
func sameIdentityInsert(a, b *identityInsert) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// keep remembers a plan.
func (u *unit) keep(r *run, key planKey, plan any, needs *compile.Needs) {
	p := &cachedPlan{plan: plan, database: r.s.dbID, schema: r.f.schema, identity: r.s.opts.identityInsert, depth: r.s.functionDepth, locale: r.s.opts.locale, cuts: !r.s.opts.ansiWarnings}
	if needs != nil {
		if needs.Volatile {
			return
		}
		p.snaps, p.local = needs.Snapshots, needs.Local
	}
	if d := r.s.databaseByID(r.s.dbID); d != nil {
		p.snaps = append([]*catalog.Database{d}, p.snaps...)
	}
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
		// What was made for an older version of this database will not fit any more.
		if old.database != p.database || len(old.snaps) == 0 || len(p.snaps) == 0 || old.snaps[0] == p.snaps[0] {
			variants = append(variants, old)
		}
	}
	if len(variants) >= maxVariants {
		variants = variants[1:]
	}
	u.plans[key] = append(variants, p)
}
