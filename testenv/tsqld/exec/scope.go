package exec

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/eval"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// scope is the compiler's view of a run.
type scope struct{ r *run }

// Database implements [compile.Scope].
func (c scope) Database(name string) (*catalog.Database, error) { return c.r.s.Usable(name) }

// DefaultSchema implements [compile.Scope].
func (c scope) DefaultSchema() string { return c.r.f.schema }

// Variable implements [compile.Scope].
func (c scope) Variable(name string) (types.Type, bool) {
	v := c.r.f.variable(name)
	if v == nil || v.isCur {
		return types.Type{}, false
	}
	return v.typ, true
}

// LocalTable implements [compile.Scope].
func (c scope) LocalTable(name string) *catalog.Table { return c.r.localTable(name) }

// Truncates implements [compile.Scope].
func (c scope) Truncates() bool { return !c.r.s.Options.AnsiWarnings }

// IdentityInsert implements [compile.Scope].
func (c scope) IdentityInsert(t *catalog.Table) bool {
	i := c.r.s.Options.IdentityInsert
	if i == nil {
		return false
	}
	return i.Object == t.ObjectID && (i.Database == c.r.s.DatabaseID || i.Database == 0 || t.Temporary)
}

// Locale implements [compile.Scope].
func (c scope) Locale() types.Locale { return c.r.s.Options.Locale }

// FiringInstead implements [compile.Scope].
func (c scope) FiringInstead() int32 { return triggers{c.r}.firingInstead() }

// FunctionDepth implements [compile.Scope].
func (c scope) FunctionDepth() int { return c.r.s.functionDepth }

// Meter implements [compile.Scope].
func (c scope) Meter() *meter.Meter { return c.r.s.Meter() }

// localTable returns the temporary table or table variable with a name, or nil.
func (r *run) localTable(name string) *catalog.Table {
	if strings.HasPrefix(name, "@") {
		if tv := r.f.tableVar(name); tv != nil {
			return tv.table
		}
		return declarations{r}.skippedTable(name)
	}
	if r.f.fired != nil {
		if tv := r.f.tableVar(name); tv != nil { // inserted or deleted
			return tv.table
		}
	}
	return r.s.Temp(name)
}

// Variable implements [eval.Frame].
func (r *run) Variable(name string) types.Value {
	if v := r.f.variable(name); v != nil {
		return v.val
	}
	return nil
}

// Env implements [eval.Frame].
func (r *run) Env() builtin.Env { return &r.env }

// Meter implements [eval.Frame].
func (r *run) Meter() *meter.Meter { return r.s.Meter() }

// Call implements [eval.Frame].
func (r *run) Call(key string, args []types.Value) (types.Value, error) {
	fn, err := r.s.localFunction(key)
	if err != nil {
		return nil, err
	}
	if fn == nil {
		return nil, mserr.NotSupported("the function %s", key)
	}
	return fn(r.s.Meter(), args)
}

var (
	_ compile.Scope = scope{}
	_ eval.Frame    = (*run)(nil)
)
