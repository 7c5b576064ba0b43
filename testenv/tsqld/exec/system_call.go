package exec

import (
	"errors"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/sysproc"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// systemCalls calls system procedures.
type systemCalls struct{ *run }

// callSystemIn calls a system procedure. The procedure runs in the database of its qualified name
// (documentation of EXECUTE and of sp_executesql: EXEC db.sys.sp_executesql runs in db).
func (r systemCalls) callSystemIn(name *syntax.ObjectName, p *sysproc.Procedure, args []callArg) (int32, error) {
	if name.Database() == "" && name.Server() == "" {
		return r.callSystem(p, args)
	}
	d, err := r.s.Place(name)
	if errors.Is(err, mserr.NoDatabase("")) {
		err = mserr.NoProcedure(name.String())
	}
	if err != nil {
		return 0, err
	}
	s := r.s
	before := s.DatabaseID
	s.DatabaseID = d.ID
	defer func() { s.DatabaseID = before }()
	return r.callSystem(p, args)
}

// callSystem calls a system procedure.
func (r systemCalls) callSystem(p *sysproc.Procedure, args []callArg) (int32, error) {
	if p.Raw {
		return rawProcedures[p.Name](calls(r), args)
	}
	if p.Text != nil {
		if strings.HasPrefix(p.Name, "xp_") { // extended procedures ignore the names of parameters
			args = slices.Clone(args)
			for i := range args {
				args[i].name = ""
			}
		}
		return r.callText(p.Text, args)
	}
	vals, err := bindSystem(p, r.s, args)
	if err != nil {
		return 0, err
	}
	code, err := r.systemExecutor().Execute(p, vals)
	var e *mserr.Error
	if errors.As(err, &e) && e.Line == 0 {
		var f *failure.Error
		if !errors.As(err, &f) {
			c := *e
			c.Line, c.Proc = 1, p.Name
			err = &c
		}
	}
	if err != nil && code != 0 { // the procedure reports the error and returns its code
		err = systemHost{r.run}.Report(err)
	}
	return code, err
}

// bindSystem converts the arguments to the parameters.
func bindSystem(p *sysproc.Procedure, s *Session, args []callArg) (sysproc.Arguments, error) {
	vals := sysproc.Arguments{}
	for i, a := range args {
		at, err := parameterOf(p.Name, args, i, len(p.Params), func(j int) string { return p.Params[j].Name })
		if err != nil {
			return nil, err
		}
		sp := p.Params[at]
		key := sp.Key()
		if _, duplicate := vals[key]; duplicate {
			return nil, mserr.DuplicateArgument(sp.Name)
		}
		if a.isDefault {
			continue
		}
		v, err := s.Assign(a.val, a.typ, sp.Type)
		if err != nil {
			return nil, failure.Originated(argumentError(err, a.typ, sp.Type), failure.AtArgument)
		}
		vals[key] = v
	}
	for _, sp := range p.Params {
		if _, given := vals[sp.Key()]; !given && !sp.Optional {
			return nil, mserr.MissingParameter(p.Name, sp.Name)
		}
	}
	return vals, nil
}

// callText calls a system procedure that is written in T-SQL. The procedure runs in the current
// database with the permissions of the caller, without an ownership chain.
func (r systemCalls) callText(p *catalog.Procedure, args []callArg) (int32, error) {
	if calls(r).nesting() >= maxNesting {
		return 0, mserr.NestingLevel(maxNesting)
	}
	u, err := unit.Procedure(p)
	if err != nil {
		return 0, err
	}
	f := &frame{kind: procFrame, unit: u, name: p.Name, schema: r.s.DefaultSchema(), owner: -1, nestLevel: calls(r).nesting() + 1}
	err = calls(r).inFrame(f, func() error {
		r.s.EnterModule(&p.Module)
		return calls(r).callBody(f, args)
	})
	if err = endScope(f, err); err != nil {
		return 0, err
	}
	return f.code(), calls(r).returnOutputs(f, args)
}

// rawProcedures are the system procedures that get the unchanged arguments.
var rawProcedures map[string]func(r calls, args []callArg) (int32, error)

// init fills the table. A composite literal would be an initialization cycle, because the methods
// refer to the table.
func init() {
	rawProcedures = map[string]func(r calls, args []callArg) (int32, error){
		"sp_executesql": calls.executeSQL, "sp_prepare": calls.prepareStatement, "sp_execute": calls.executePrepared,
		"sp_prepexec": calls.prepareAndExecute, "sp_unprepare": calls.unprepare,
		"xp_regread": calls.readRegistry, "xp_instance_regread": calls.readRegistry,
	}
}

// readRegistry executes xp_regread and xp_instance_regread @rootkey, @key, @value_name, @value
// OUTPUT, 'no_output'. There is no registry, so that no value is found: the variable keeps its
// value, and a message is sent unless 'no_output' is given.
func (r calls) readRegistry(args []callArg) (int32, error) {
	if len(args) < 2 || len(args) > 5 {
		return 1, mserr.New(22001, 16, "Error executing extended stored procedure: Invalid Parameter")
	}
	if last, _ := args[len(args)-1].val.(string); len(args) > 3 && strings.EqualFold(last, "no_output") {
		return 0, nil
	}
	return 0, r.info(mserr.New(22001, 1,
		"RegQueryValueEx() returned error 2, 'The system cannot find the file specified.'"))
}

// systemExecutor returns the executor of system procedures in the current activation.
func (r systemCalls) systemExecutor() *sysproc.Executor {
	return sysproc.New(r.ctx, r.s.Session, systemHost{r.run}, &r.s.inst.library, r.env.Objects, r.definer(), r.f.schema)
}

// systemHost is a run as package sysproc needs it.
type systemHost struct{ r *run }

// Info implements [sysproc.Interpreter].
func (h systemHost) Info(m *mserr.Error) error { return h.r.info(m) }

// Result implements [sysproc.Interpreter].
func (h systemHost) Result(cols []types.Column, rows [][]types.Value) error {
	return systemCalls{h.r}.sendAll(cols, rows)
}

// Report implements [sysproc.Interpreter].
func (h systemHost) Report(err error) error {
	if err := h.r.settle(nil, err); err != nil {
		return err
	}
	return h.r.out.End(answer.Done{Error: true, InProc: true, Command: answer.CommandRaise})
}

// LocalTable implements [sysproc.Interpreter].
func (h systemHost) LocalTable(name string) *catalog.Table { return h.r.localTable(name) }

// FirstResult implements [sysproc.Interpreter].
func (h systemHost) FirstResult(text, params string) ([]types.Column, error) {
	return systemCalls{h.r}.firstResult(text, params)
}

// InScope implements [sysproc.Interpreter].
func (h systemHost) InScope(do func(s sysproc.Scope) error) error {
	r, outer := h.r, h.r.f
	r.f = &frame{
		parent: outer, kind: dynamicFrame, unit: &unit.Unit{}, level: outer.level + 1, schema: outer.schema, owner: outer.owner,
		nestLevel: outer.nestLevel, line: outer.line,
	}
	defer func() { r.f = outer }()
	return do(describedBatch{r})
}

// describedBatch is the scope of a batch that is compiled and not executed.
type describedBatch struct{ r *run }

// Declare implements [sysproc.Scope].
func (b describedBatch) Declare(name string, ref *syntax.TypeRef) error {
	t := declarations{b.r}.resolveType(ref)
	switch {
	case t.Err != nil:
		return t.Err
	case t.Table != nil:
		return mserr.NotSupported("sp_describe_undeclared_parameters of a batch with table variables")
	}
	b.r.f.declare(name, t.Type, nil)
	return nil
}

// VariableType implements [sysproc.Scope].
func (b describedBatch) VariableType(name string) (types.Type, bool) {
	return scope(b).Variable(name)
}

// Compiler implements [sysproc.Scope].
func (b describedBatch) Compiler() *compile.Compiler { return b.r.compiler() }

// sendAll sends a result set.
func (r systemCalls) sendAll(cols []types.Column, rows [][]types.Value) error {
	if err := r.columns(cols); err != nil {
		return err
	}
	for _, row := range rows {
		if err := r.out.Row(row); err != nil {
			return err
		}
	}
	return r.done(int64(len(rows)), answer.CommandSelect)
}

// firstResult returns the columns of the first result set of a batch, or nil if it has none.
func (r systemCalls) firstResult(text, params string) ([]types.Column, error) {
	parsed, err := r.s.inst.units.Dynamic(r.s.Meter(), text, params, r.s.Options.QuotedIdentifier)
	if err != nil {
		return nil, err
	}
	var queries []*syntax.SelectStmt
	for _, st := range parsed.Body {
		switch st := st.(type) {
		case *syntax.SelectStmt:
			queries = append(queries, st)
		case *syntax.DeclareStmt, *syntax.SetVarStmt, *syntax.SetOptionStmt, *syntax.PrintStmt:
		default:
			return nil, mserr.NotSupported("sp_describe_first_result_set of a batch with other statements than SELECT, DECLARE and SET")
		}
	}
	for _, q := range queries {
		found, err := r.describeQuery(parsed, q, text, params)
		if err != nil || found != nil {
			return found, err
		}
	}
	return nil, nil
}

// describeQuery compiles a query of a batch and returns its columns, or nil if the query only
// assigns variables.
func (r systemCalls) describeQuery(parsed *unit.Unit, q *syntax.SelectStmt, text, params string) ([]types.Column, error) {
	u := &unit.Unit{Text: text, Params: parsed.Params, Decls: parsed.Decls, Body: []syntax.Stmt{q}}
	args := make([]callArg, len(u.Params))
	for i, p := range u.Params {
		args[i] = callArg{name: p.Name, typ: types.NullType}
	}
	saved := r.s.Options.FmtOnly
	r.s.Options.FmtOnly = true
	defer func() { r.s.Options.FmtOnly = saved }()
	got, err := calls(r).collect(func() error {
		status, err := calls(r).dynamicUnit(u, text, params, args)
		if err == nil && status.broken { // the error was sent before
			err = mserr.BatchNotAnalyzed()
		}
		return err
	})
	if err != nil || len(got) == 0 {
		return nil, err
	}
	return got[0].Columns, nil
}
