package exec

import (
	"errors"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/sysproc"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// calls executes EXECUTE, remote procedure calls and prepared statements.
type calls struct{ *run }

// maxNesting is the maximum nesting level of procedures, functions and dynamic SQL (@@NESTLEVEL).
const maxNesting = 32

// callArg is an argument of a procedure.
type callArg struct {
	name      string // with '@'; "" if passed by position
	typ       types.Type
	val       types.Value
	output    bool
	isDefault bool
	target    *variable  // receives the value of an OUTPUT parameter; may be nil
	table     *tableVar  // a table-valued parameter
	sent      *sentTable // a table-valued parameter from the client
}

// batch executes a unit as the batch of a request. SCOPE_IDENTITY() keeps its value between the
// batches of a session: example B of its documentation reads it after GO.
func (r calls) batch(u *unit.Unit) error {
	s := r.s
	f := &frame{kind: batchFrame, unit: u, schema: s.DefaultSchema(), owner: -1, identity: s.batchIdentity}
	defer func() { s.batchIdentity = f.identity }()
	return r.inFrame(f, func() error {
		if err := declarations(r).variables(f); err != nil {
			return r.settle(nil, failure.Compile(err))
		}
		if s.Options.ShowPlan && !setsShowPlan(u) {
			return r.settle(nil, queries(r).showPlan(u))
		}
		_, err := r.list(u.Body)
		return err
	})
}

// inFrame calls fn in a new activation and cleans up after it.
func (r calls) inFrame(f *frame, fn func() error) error {
	s := r.s
	f.parent, f.level = r.f, s.depth
	f.temps, f.savedOpts = s.TempTables(), s.Options
	if f.parent != nil {
		f.line = f.parent.line
	}
	database, outer := s.DatabaseID, s.top
	r.f, s.top = f, f
	s.depth++
	err := fn()
	s.depth--
	r.f, s.top = f.parent, outer
	s.EndImpersonations(f.level)
	err = errors.Join(err, r.dropFrame(f))
	if f.kind == batchFrame {
		return err
	}
	s.RestoreOptions(f.savedOpts)
	if s.DatabaseID != database {
		now, d := s.DatabaseByID(s.DatabaseID), s.DatabaseByID(database)
		s.DatabaseID = database
		if f.kind == dynamicFrame && d != nil { // the end of dynamic SQL reverts its USE
			err = errors.Join(err, r.out.EnvChange(databaseChange(d, now)))
		}
	}
	return err
}

// dropFrame releases an activation's cursors and table variables, and its temporary tables unless
// it is a batch.
func (r calls) dropFrame(f *frame) error {
	s := r.s
	var errs []error
	s.releaseFrame(f)
	for _, tv := range f.tables {
		if tv.created {
			errs = append(errs, s.DropVariable(r.ctx, tv.table))
		}
	}
	if f.kind != batchFrame && len(s.TempTables()) > 0 {
		// Tables of a caller that the activation has dropped stay dropped.
		keep := f.temps
		for name := range f.temps {
			if s.Temp(name) == nil {
				keep = keep.Without(name)
			}
		}
		errs = append(errs, s.DropTemps(r.ctx, keep))
	}
	return errors.Join(errs...)
}

// execStmt executes EXECUTE.
func (r calls) execStmt(st *syntax.ExecStmt) error {
	before := r.settled
	err := r.execute(st)
	if r.settled == before {
		r.s.LastError = 0
	}
	if r.inserting {
		return err
	}
	f, failed := failure.As(err)
	switch {
	case err == nil, failed && f.Settled && f.Pending:
		return errors.Join(err, r.endExec())
	case failed && f.Settled && r.f.kind == batchFrame && r.out.Failed(): // a statement of the module has ended the batch
		return errors.Join(err, r.out.Done(answer.Done{Error: true, Command: answer.CommandBatch}))
	}
	return err
}

// endExec sends the end of EXECUTE: in a batch a DONEPROC, in a procedure a DONEINPROC. It has the
// error bit of an error that ended the module (SQL Server 2025, recorded).
func (r calls) endExec() error {
	failed := r.out.Failed()
	switch {
	case r.f.kind == batchFrame:
		return r.out.EndProc()
	case r.nested() && !r.inFunction && (failed || !r.s.Options.NoCount):
		return r.end(answer.Done{Error: failed, Command: answer.CommandExecute})
	}
	return nil
}

// execute executes the module or text of EXECUTE.
func (r calls) execute(st *syntax.ExecStmt) error {
	if rs := st.ResultSets; rs != nil && rs.Kind != "UNDEFINED" {
		return r.withResultSets(rs, func() error { return r.executeModule(st) })
	}
	return r.executeModule(st)
}

// executeModule is execute for result sets of any kind.
func (r calls) executeModule(st *syntax.ExecStmt) error {
	if st.Text != nil {
		return r.execText(st)
	}
	name := st.Module
	if st.ModuleVar != "" {
		v := r.f.variable(st.ModuleVar)
		if v == nil || v.isCur {
			return failure.Compile(mserr.UndeclaredVariable(st.ModuleVar))
		}
		text, ok := v.val.(string)
		if !ok || text == "" {
			return mserr.NoProcedure("")
		}
		name = session.SplitName(text)
	}
	args, err := r.arguments(st.Args)
	if err != nil {
		return err
	}
	status, err := r.call(name, args)
	if err != nil {
		return err
	}
	if status.broken {
		return r.settleCall(status.imbalance)
	}
	if st.ReturnVar != "" {
		v := r.f.variable(st.ReturnVar)
		if v.val, err = types.Convert(status.val, status.typ, v.typ, 0); err != nil {
			return failure.Originated(err, failure.AtArgument)
		}
	}
	return r.sendStatus(status)
}

// sendStatus sends the return code of a module that the batch itself has called, and error 266
// after it.
func (r calls) sendStatus(status result) error {
	if r.f.kind == batchFrame && !r.inserting {
		n, _ := status.val.(int64)
		if err := r.out.ReturnStatus(int32(n)); err != nil {
			return err
		}
	}
	return r.settleCall(status.imbalance)
}

// arguments evaluates the arguments of EXECUTE.
func (r calls) arguments(list []*syntax.ExecArg) ([]callArg, error) {
	args := make([]callArg, 0, len(list))
	for _, a := range list {
		arg := callArg{name: a.Name, output: a.Output}
		switch e := a.Value.(type) {
		case *syntax.Default:
			arg.isDefault = true
		case *syntax.VarRef:
			if tv := r.f.tableVar(e.Name); tv != nil {
				arg.table = tv
				break
			}
			v := r.f.variable(e.Name)
			if v == nil {
				return nil, failure.Compile(mserr.UndeclaredOperand(e.Name))
			}
			if v.isCur {
				return nil, mserr.NotSupported("a cursor parameter")
			}
			arg.typ, arg.val = v.typ, v.val
			if a.Output {
				arg.target = v
			}
		default:
			if a.Output {
				return nil, failure.Compile(mserr.OutputOfConstant())
			}
			var err error
			if arg.val, arg.typ, err = r.eval(a.Value); err != nil {
				return nil, err
			}
		}
		args = append(args, arg)
	}
	return args, nil
}

// result is the return value of a procedure or function.
type result struct {
	val types.Value
	typ types.Type
	// An error ended the module, so that EXECUTE assigns no return code, and sends none (SQL Server
	// 2025, recorded).
	broken    bool
	imbalance error // error 266, or nil
}

// statusOf returns the result of a procedure with a return code.
func statusOf(code int32) result { return result{val: int64(code), typ: types.IntType} }

// code returns the return code of an activation that has ended: that of RETURN, or else 10 minus
// the severity of the worst error that its own statements raised, even if its CATCH handled the
// error. Source: SQL Server 2025, recorded.
func (f *frame) code() int32 {
	if !f.returned && f.worst > 10 {
		return 10 - int32(f.worst)
	}
	return f.status
}

// call calls a procedure or scalar function by name.
func (r calls) call(name *syntax.ObjectName, args []callArg) (result, error) {
	if p := r.s.inst.library.Find(name); p != nil {
		code, err := systemCalls(r).callSystemIn(name, p, args)
		return statusOf(code), err
	}
	if module.IsTemporary(name.Last()) {
		return r.callTempProcedure(name, args)
	}
	o, d, err := r.object(name)
	if errors.Is(err, mserr.NoDatabase("")) {
		err = mserr.NoProcedure(name.String())
	}
	if err != nil {
		return result{}, err
	}
	switch o := o.(type) {
	case *catalog.Procedure:
		return r.callProcedure(d, o, args)
	case *catalog.Function:
		if o.Kind == catalog.KindScalarFunction {
			return functions(r).callFunctionByExec(d, o, args)
		}
		return result{}, mserr.NotProcedure(o.Name, "table valued function")
	case *catalog.Table:
		return result{}, mserr.NotProcedure(o.Name, "table")
	case *catalog.View:
		return result{}, mserr.NotProcedure(o.Name, "view")
	case nil:
		if hasSystemPrefix(name) {
			return result{}, mserr.NotSupported("the system procedure %s", name.Last())
		}
	}
	return result{}, mserr.NoProcedure(name.String())
}

// hasSystemPrefix reports whether a name is that of a procedure that SQL Server ships.
func hasSystemPrefix(n *syntax.ObjectName) bool {
	last := catalog.Fold(n.Last())
	schema := n.Schema()
	return (schema == "" || catalog.EqualNames(schema, "sys") || catalog.EqualNames(schema, "dbo")) &&
		(strings.HasPrefix(last, "sp_") || strings.HasPrefix(last, "xp_")) && sysproc.Unsupported[last]
}

// callTempProcedure executes EXECUTE #name.
func (r calls) callTempProcedure(name *syntax.ObjectName, args []callArg) (result, error) {
	p := r.s.TempProcedures[catalog.Fold(name.Last())]
	if p == nil {
		return result{}, mserr.NoProcedure(name.String())
	}
	d := r.s.DatabaseByID(p.Database)
	if d == nil {
		return result{}, mserr.NoProcedure(name.String())
	}
	return r.callProcedure(d, p.Procedure, args)
}

// callProcedure executes a stored procedure.
func (r calls) callProcedure(d *catalog.Database, p *catalog.Procedure, args []callArg) (result, error) {
	s := r.s
	owner := d.Owner(p)
	if module.IsTemporary(p.Name) {
		owner = -1 // no ownership chain
	} else if r.f == nil || r.f.owner < 0 || owner != r.f.owner || d.ID != s.DatabaseID {
		if !s.May(d, "EXECUTE", catalog.Securable{Class: catalog.ClassObject, Major: int(p.ObjectID)}) {
			return result{}, session.PermissionDenied(d, p, "EXECUTE")
		}
	}
	if r.nesting() >= maxNesting {
		return result{}, mserr.NestingLevel(maxNesting)
	}
	u, err := unit.Procedure(p)
	if err != nil {
		return result{}, err
	}
	schema := "dbo"
	if sc := d.SchemaByID(p.SchemaID); sc != nil {
		schema = sc.Name
	}
	f := &frame{
		kind: procFrame, unit: u, name: p.Name, procID: p.ObjectID, schema: schema, owner: owner, nestLevel: r.nesting() + 1,
	}
	before := s.Tran.Level()
	err = r.inFrame(f, func() error {
		s.DatabaseID = d.ID
		s.EnterModule(&p.Module)
		if err := s.ModuleIdentity(d, &p.Module, owner, f.level); err != nil {
			return err
		}
		return r.callBody(f, args)
	})
	broken := err != nil
	if err = endScope(f, err); err != nil {
		return result{}, err
	}
	if err := r.returnOutputs(f, args); err != nil {
		return result{}, err
	}
	status := statusOf(f.code())
	status.broken, status.imbalance = broken, r.balance(before, p.Name)
	return status, nil
}

// balance returns error 266 if the transaction count differs from that before a call of a procedure
// or of sp_executesql. The call still returns its code (SQL Server 2025, recorded).
func (r calls) balance(before int, proc string) error {
	s := r.s
	if before == 0 && s.Tran.Implicit() {
		// The unseen BEGIN TRANSACTION of an implicit transaction is not counted: the tests of
		// SqlServerSimulator report so of SQL Server 2025 (AdHocScopeTransactionCountTests).
		before = 1
	}
	after := s.Tran.Level()
	if after == before || s.Options.XactAbort {
		return nil
	}
	return withProcName(mserr.TransactionCount(before, after).WithState(2), proc)
}

// settleCall settles an error of a call that has returned, or nil.
func (r calls) settleCall(err error) error {
	if err == nil {
		return nil
	}
	return r.settle(nil, err)
}

// callBody binds the arguments of a procedure and executes its statements.
func (r calls) callBody(f *frame, args []callArg) error {
	if err := r.bind(f, f.name, args); err != nil {
		return withProcName(err, f.name)
	}
	if err := declarations(r).variables(f); err != nil {
		return failure.Compile(err)
	}
	_, err := r.list(f.unit.Body)
	return err
}

// withProcName adds the name of a procedure to an error of its call. The line of such an error is
// 0.
func withProcName(err error, proc string) error {
	from := failure.AtRun
	if f, ok := failure.As(err); ok {
		if f.Settled {
			return err
		}
		from = f.From
	}
	var e *mserr.Error
	if !errors.As(err, &e) || e.Line != 0 {
		return err
	}
	c := *e
	c.Proc = proc
	return &failure.Error{Err: &c, From: from}
}

// nesting returns @@NESTLEVEL.
func (r calls) nesting() int {
	if r.f == nil {
		return 0
	}
	return r.f.nestLevel
}

// endScope returns nil for an error that ends only the activation f, and other errors unchanged.
func endScope(f *frame, err error) error {
	var fail *failure.Error
	if errors.As(err, &fail) && fail.Settled && !fail.Pending && fail.Reach == failure.EndScope && fail.Frame == f {
		return nil
	}
	return err
}

// bind sets the parameters of an activation. Error 180 for more than MaxParameters, each of which
// is looked for among all.
func (r calls) bind(f *frame, proc string, args []callArg) error {
	params := f.unit.Params
	if len(params) > module.MaxParameters || len(args) > module.MaxParameters {
		return mserr.TooManyParametersIn("EXECUTE", module.MaxParameters)
	}
	resolved := declarations(r).resolve(f)
	if len(params) == 0 && len(args) > 0 {
		return mserr.NoParameters(proc)
	}
	given := make([]*callArg, len(params))
	for i := range args {
		a := &args[i]
		at, err := parameterOf(proc, args, i, len(params), func(j int) string { return params[j].Name })
		if err != nil {
			return err
		}
		if a.name != "" && given[at] != nil {
			return mserr.DuplicateArgument(a.name)
		}
		given[at] = a
	}
	for i, p := range params {
		if err := resolved.Params[i].Err; err != nil {
			return failure.ErrorAt(err, p)
		}
		if err := r.bindOne(f, proc, p, resolved.Params[i], given[i]); err != nil {
			return err
		}
	}
	return nil
}

// parameterOf returns the index of the parameter for args[i]: the parameter with the argument's
// name, or the one at its position. params is the number of parameters.
func parameterOf(proc string, args []callArg, i, params int, nameOf func(int) string) (int, error) {
	if args[i].name == "" {
		if i >= params {
			return 0, mserr.TooManyProcArguments(proc)
		}
		return i, nil
	}
	found := -1
	for j := range params {
		if catalog.EqualNames(nameOf(j), args[i].name) {
			found = j
		}
	}
	switch {
	case found >= 0:
		return found, nil
	case len(args) > params:
		return 0, mserr.TooManyProcArguments(proc)
	}
	return 0, mserr.NotParameter(args[i].name, proc)
}

// bindOne binds one parameter; a is nil if there is no argument.
func (r calls) bindOne(f *frame, proc string, p *syntax.Param, t unit.ResolvedType, a *callArg) error {
	if t.Table != nil {
		return r.bindTable(f, p, t.Table, a)
	}
	if a == nil || a.isDefault {
		if p.Default == nil {
			return mserr.MissingParameter(proc, p.Name)
		}
		v, err := r.value(p.Default, t.Type)
		if err != nil {
			return err
		}
		f.declare(p.Name, t.Type, v)
		return nil
	}
	if a.table != nil || a.sent != nil {
		return mserr.TypeClash("table", t.Type.MessageName())
	}
	if a.output && !p.Output {
		return mserr.NotOutput(p.Name)
	}
	v := a.val
	if v != nil && a.typ != t.Type {
		if err := types.CheckImplicit(a.typ, t.Type); err != nil {
			return failure.Originated(err, failure.AtArgument)
		}
		var err error
		if v, err = r.s.Assign(a.val, a.typ, t.Type); err != nil {
			return failure.Originated(argumentError(err, a.typ, t.Type), failure.AtArgument)
		}
	}
	f.declare(p.Name, t.Type, v)
	return nil
}

// argumentError returns the error for a failed conversion of an argument: 8114 in place of 245 and
// similar errors.
func argumentError(err error, from, to types.Type) error {
	var e *mserr.Error
	if errors.As(err, &e) && failure.BatchErrors[e.Number] {
		return mserr.ConversionError(from.Name(), to.Name())
	}
	return err
}

// bindTable binds a table-valued parameter. The callee sees the caller's table under the name of
// the parameter.
func (r calls) bindTable(f *frame, p *syntax.Param, tt *catalog.TableType, a *callArg) error {
	var source *catalog.Table
	if a != nil && a.table != nil {
		source = a.table.table
	} else if a != nil && a.sent == nil && !a.isDefault {
		return mserr.TypeClash(a.typ.MessageName(), tt.Name)
	}
	tv := &tableVar{name: p.Name, readOnly: true}
	if source == nil { // an omitted table-valued parameter is an empty table
		t, err := declarations(r).shape(p, func() (*catalog.Table, error) { return copyShape(tt.Table, p.Name, f.level), nil })
		if err != nil {
			return err
		}
		sent := &sentTable{}
		if a != nil && a.sent != nil {
			sent = a.sent
		}
		if err := r.bindSent(p.Name, tt, t, sent); err != nil {
			return err
		}
		tv.table, tv.created = t, true
	} else {
		if len(source.Columns) != len(tt.Table.Columns) {
			return mserr.TypeClash("table", tt.Name)
		}
		t, err := r.aliasShape(p, source)
		if err != nil {
			return err
		}
		tv.table = t
	}
	if f.tables == nil {
		f.tables = map[string]*tableVar{}
	}
	f.tables[catalog.Fold(p.Name)] = tv
	return nil
}

// aliasShape returns the definition of a caller's table under the name of a parameter.
func (r calls) aliasShape(p *syntax.Param, source *catalog.Table) (*catalog.Table, error) {
	u := r.f.unit
	return u.Shape(unit.ShapeKey{Node: p, Source: source}, func() (*catalog.Table, error) {
		t := catalog.Clone(source)
		t.Name = p.Name
		return t, nil
	})
}

// returnOutputs assigns the values of OUTPUT parameters to the caller's variables.
func (r calls) returnOutputs(f *frame, args []callArg) error {
	for i := range args {
		a := &args[i]
		if a.target == nil {
			continue
		}
		p := f.parameter(a.name, i)
		if p == nil {
			continue
		}
		if a.target.typ.ID == 0 { // a remote call: the variable gets the type of the parameter
			a.target.typ = p.typ
			if err := declarations(r).store(a.target, p.val); err != nil {
				return err
			}
			continue
		}
		v, err := r.s.Assign(p.val, p.typ, a.target.typ)
		if err != nil {
			return failure.Originated(argumentError(err, p.typ, a.target.typ), failure.AtArgument)
		}
		if err := declarations(r).store(a.target, v); err != nil {
			return err
		}
	}
	return nil
}

// parameter returns the parameter with a name, or at a position if the name is empty.
func (f *frame) parameter(name string, position int) *variable {
	if name == "" {
		if position >= len(f.unit.Params) {
			return nil
		}
		name = f.unit.Params[position].Name
	}
	return f.variable(name)
}

// execText executes EXEC ('text').
func (r calls) execText(st *syntax.ExecStmt) error {
	v, err := r.value(st.Text, types.NVarCharMax)
	if err != nil {
		return err
	}
	text, _ := v.(string)
	if st.As != "" {
		id, err := r.s.IdentityOf(st.As, st.AsLogin)
		if err != nil {
			return err
		}
		r.s.ImpersonateModule(id, r.f.level)
		defer r.s.PopImpersonation()
	}
	status, err := r.dynamic(text, "", nil)
	if err != nil || status.broken || text == "" {
		return err
	}
	return r.sendStatus(status)
}

// dynamic executes a text as a dynamic batch with parameters as in sp_executesql. Errors in the
// text end only the dynamic batch.
func (r calls) dynamic(text, params string, args []callArg) (result, error) {
	s := r.s
	if r.nesting() >= maxNesting {
		return result{}, mserr.NestingLevel(maxNesting)
	}
	u, err := s.inst.units.Dynamic(s.Meter(), text, params, s.Options.QuotedIdentifier)
	if err != nil {
		return result{}, err
	}
	return r.dynamicUnit(u, text, params, args)
}

// dynamicUnit executes a parsed text.
func (r calls) dynamicUnit(u *unit.Unit, text, params string, args []callArg) (result, error) {
	s := r.s
	schema := s.DefaultSchema()
	f := &frame{kind: dynamicFrame, unit: u, schema: schema, owner: -1, nestLevel: r.nesting() + 1}
	err := r.inFrame(f, func() error {
		f.line = 1
		if err := r.bindDynamic(f, text, params, args); err != nil {
			return err
		}
		if err := declarations(r).variables(f); err != nil {
			return failure.Compile(err)
		}
		_, err := r.list(u.Body)
		return err
	})
	broken := err != nil
	if err = endScope(f, err); err != nil {
		return result{}, err
	}
	status := statusOf(f.code())
	status.broken = broken
	return status, r.returnOutputs(f, args)
}

// bindDynamic binds the parameters of sp_executesql, which has a message of its own for missing
// ones.
func (r calls) bindDynamic(f *frame, text, params string, args []callArg) error {
	if len(args) > len(f.unit.Params) {
		return mserr.TooManyProcArguments("")
	}
	err := r.bind(f, "sp_executesql", args)
	var e *mserr.Error
	if errors.As(err, &e) && (e.Number == 201 || e.Number == 8145) {
		for _, p := range f.unit.Params {
			if f.variable(p.Name) == nil {
				return mserr.MissingQueryParameter("("+params+")"+text, p.Name)
			}
		}
	}
	return err
}

// object returns the object with a name in the current activation, and its database, or a nil
// object.
func (r *run) object(n *syntax.ObjectName) (catalog.Object, *catalog.Database, error) {
	return r.s.Object(n, r.f.schema)
}
