package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/ddl"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// define executes a statement that changes definitions.
func (r *run) define(st syntax.Stmt) error {
	if dbcc, ok := st.(*syntax.DBCCStmt); ok && dbcc.Command == "USEROPTIONS" {
		return queries{r}.userOptions(ddl.Silent(dbcc))
	}
	return r.definer().Execute(st)
}

// definer returns the executor of statements that change definitions, in the current activation.
func (r *run) definer() *ddl.Executor {
	f := r.f
	p := ddl.Place{Schema: f.schema, Level: f.level, InFunction: r.inFunction, Outer: f.outerTemps()}
	if f.unit != nil {
		p.Text = f.unit.Text
	}
	return ddl.New(r.ctx, r.s.Session, definerHost{r}, p)
}

// definerHost is a run as package ddl needs it.
type definerHost struct{ r *run }

// Compiler implements [ddl.Interpreter].
func (h definerHost) Compiler() *compile.Compiler { return h.r.compiler() }

// Value implements [ddl.Interpreter].
func (h definerHost) Value(e syntax.Expr, to types.Type) (types.Value, error) {
	return h.r.value(e, to)
}

// Info implements [ddl.Interpreter].
func (h definerHost) Info(m *mserr.Error) error { return h.r.info(m) }

// LocalTable implements [ddl.Interpreter].
func (h definerHost) LocalTable(name string) *catalog.Table { return h.r.localTable(name) }

// Shape implements [ddl.Interpreter].
func (h definerHost) Shape(node syntax.Node, build func() (*catalog.Table, error)) (*catalog.Table, error) {
	return declarations{h.r}.shape(node, build)
}

// InSchema implements [ddl.Interpreter].
func (h definerHost) InSchema(schema string, do func() error) error {
	f := h.r.f
	before := f.schema
	f.schema = schema
	defer func() { f.schema = before }()
	return do()
}
