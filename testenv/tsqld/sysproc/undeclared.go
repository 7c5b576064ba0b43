package sysproc

import (
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// undeclared is a parameter of a batch without a declaration.
type undeclared struct {
	compile.Deduced
	input, output bool
}

// describeUndeclared executes sp_describe_undeclared_parameters @tsql, @Params: it returns the
// parameters of a batch that are not declared, with the types that the batch implies, and executes
// nothing. Errors: 11501 to 11508.
func (r *Executor) describeUndeclared(a Arguments) (int32, error) {
	opt := parser.Options{QuotedIdentifier: r.s.Options.QuotedIdentifier, Meter: r.s.Meter()}
	batch, err := parser.Parse(a.text("tsql"), opt)
	if err != nil {
		return 1, err
	}
	var declared []*syntax.Param
	if text := a.text("params"); text != "" {
		if declared, err = parser.ParseParams(text, opt); err != nil {
			return 1, err
		}
	}
	d := deducer{r: r, byName: map[string]*undeclared{}, declared: map[string]bool{}}
	if err := d.find(batch.Stmts, declared); err != nil {
		return 1, err
	}
	err = r.host.InScope(func(s Scope) error {
		d.scope = s
		return d.deduce(batch.Stmts, declared)
	})
	if err != nil {
		return 1, err
	}
	rows := make([][]types.Value, 0, len(d.params))
	for i, p := range d.params {
		if p.Type.ID == 0 {
			// Every type would be possible. SQL Server names the two of the highest precedence.
			return 1, mserr.AmbiguousParameter(p.Name, "sql_variant", "xml")
		}
		rows = append(rows, describedParameter(i+1, p))
	}
	return r.sendAll(undeclaredColumns, rows)
}

// deducer finds the types of the parameters of a batch.
type deducer struct {
	r        *Executor
	scope    Scope
	params   []*undeclared // in the order of the batch
	byName   map[string]*undeclared
	declared map[string]bool // folded names
	compiler *compile.Compiler
}

// find lists the parameters that are not declared. Errors: 134, 11508.
func (d *deducer) find(stmts []syntax.Stmt, declared []*syntax.Param) error {
	for _, p := range declared {
		if d.declared[catalog.Fold(p.Name)] {
			return mserr.DuplicateVariable(p.Name)
		}
		d.declared[catalog.Fold(p.Name)] = true
	}
	var failed error
	use := func(name string, input, output bool) {
		key := catalog.Fold(name)
		if name == "" || d.declared[key] || failed != nil {
			return
		}
		if d.byName[key] != nil {
			failed = mserr.RepeatedParameter(name)
			return
		}
		p := &undeclared{Deduced: compile.Deduced{Name: name}, input: input, output: output}
		d.byName[key], d.params = p, append(d.params, p)
	}
	for _, st := range stmts {
		syntax.Inspect(st, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.DeclareStmt:
				for _, v := range n.Vars {
					if d.declared[catalog.Fold(v.Name)] {
						failed = mserr.DuplicateVariable(v.Name)
					}
					d.declared[catalog.Fold(v.Name)] = true
				}
			case *syntax.ExecArg:
				if v, ok := n.Value.(*syntax.VarRef); ok {
					use(v.Name, true, n.Output)
					return false
				}
			case *syntax.VarRef:
				use(n.Name, true, false)
			case *syntax.SetVarStmt:
				use(n.Name, n.Op != syntax.OpNone, true)
			case *syntax.SelectAssign:
				use(n.Var, n.Op != syntax.OpNone, true)
			case *syntax.SetClause:
				use(n.Var, n.Op != syntax.OpNone && n.Column == nil, true)
			case *syntax.ExecStmt:
				use(n.ReturnVar, false, true)
			}
			return failed == nil
		})
	}
	return failed
}

// deduce compiles the statements of the batch in a frame that has the declared variables.
func (d *deducer) deduce(stmts []syntax.Stmt, declared []*syntax.Param) error {
	for _, p := range declared {
		if err := d.declare(p.Name, p.Type); err != nil {
			return err
		}
	}
	var list []*compile.Deduced
	for _, p := range d.params {
		list = append(list, &p.Deduced)
	}
	d.compiler = d.scope.Compiler().Deducing(compile.NewDeduction(list))
	err := d.list(stmts)
	var e *mserr.Error
	if errors.As(err, &e) && !failure.NotSupported(e) && (e.Number < 11501 || e.Number > 11508) {
		return failure.Preceded(e, mserr.BatchNotAnalyzed())
	}
	return err
}

// declare declares a variable of the batch.
func (d *deducer) declare(name string, ref *syntax.TypeRef) error {
	if ref == nil {
		return mserr.NotSupported("sp_describe_undeclared_parameters of a batch with table or cursor variables")
	}
	return d.scope.Declare(name, ref)
}

// list compiles statements.
func (d *deducer) list(stmts []syntax.Stmt) error {
	for _, st := range stmts {
		if err := d.stmt(st); err != nil {
			return err
		}
	}
	return nil
}

// stmt compiles a statement.
func (d *deducer) stmt(st syntax.Stmt) (err error) {
	switch st := st.(type) {
	case *syntax.BlockStmt:
		return d.list(st.Body)
	case *syntax.IfStmt:
		if _, err = d.compiler.Condition(st.Cond); err == nil {
			err = d.stmt(st.Then)
		}
		if err == nil && st.Else != nil {
			err = d.stmt(st.Else)
		}
	case *syntax.WhileStmt:
		if _, err = d.compiler.Condition(st.Cond); err == nil {
			err = d.stmt(st.Body)
		}
	case *syntax.SelectStmt:
		_, err = d.compiler.Select(st.Query, st.Hints)
	case *syntax.InsertStmt:
		if _, is := st.Source.(*syntax.InsertExec); is {
			return mserr.NotSupported("sp_describe_undeclared_parameters of INSERT ... EXECUTE")
		}
		_, err = d.compiler.Insert(st)
	case *syntax.UpdateStmt:
		_, err = d.compiler.Update(st, false)
	case *syntax.DeleteStmt:
		_, err = d.compiler.Delete(st, false)
	case *syntax.MergeStmt:
		_, err = d.compiler.Merge(st)
	case *syntax.DeclareStmt:
		err = d.declarations(st)
	case *syntax.SetVarStmt:
		err = d.assignment(st)
	case *syntax.PrintStmt:
		_, err = d.compiler.Scalar(st.X, types.NVarCharOf(4000))
	case *syntax.ExecStmt:
		err = d.execute(st)
	case *syntax.SetOptionStmt, *syntax.BreakStmt, *syntax.ContinueStmt:
	default:
		err = mserr.NotSupported("sp_describe_undeclared_parameters of a batch with other statements than " +
			"SELECT, INSERT, UPDATE, DELETE, MERGE, EXECUTE, DECLARE, SET, IF, WHILE and PRINT")
	}
	return err
}

// declarations declares the variables of a DECLARE.
func (d *deducer) declarations(st *syntax.DeclareStmt) error {
	for _, v := range st.Vars {
		if err := d.declare(v.Name, v.Type); err != nil {
			return err
		}
		if v.Init == nil {
			continue
		}
		to, _ := d.scope.VariableType(v.Name)
		if _, err := d.compiler.Scalar(v.Init, to); err != nil {
			return err
		}
	}
	return nil
}

// assignment compiles SET @v = x. A parameter without a declaration gets the type of the value.
func (d *deducer) assignment(st *syntax.SetVarStmt) error {
	if st.Cursor != nil || st.Value == nil {
		return mserr.NotSupported("sp_describe_undeclared_parameters of this SET")
	}
	to, _ := d.scope.VariableType(st.Name) // no type for a parameter
	value, err := d.compiler.Scalar(st.Value, to)
	if p := d.byName[catalog.Fold(st.Name)]; err == nil && p != nil {
		p.Type = value.Type
	}
	return err
}

// execute finds the parameters of a procedure to which parameters of the batch are passed.
func (d *deducer) execute(st *syntax.ExecStmt) error {
	if st.Module == nil {
		return mserr.NotSupported("sp_describe_undeclared_parameters of EXECUTE of a text or a variable")
	}
	if d.r.library.Find(st.Module) != nil {
		return mserr.NotSupported("sp_describe_undeclared_parameters of the system procedure %s", st.Module.Last())
	}
	o, _, err := d.r.object(st.Module)
	if err != nil {
		return err
	}
	proc, ok := o.(*catalog.Procedure)
	if !ok {
		return mserr.NoProcedure(st.Module.String())
	}
	if p := d.byName[catalog.Fold(st.ReturnVar)]; p != nil {
		p.Type = types.IntType
	}
	for i, a := range st.Args {
		v, ok := a.Value.(*syntax.VarRef)
		if !ok {
			continue
		}
		p := d.byName[catalog.Fold(v.Name)]
		formal := formalParameter(proc, a.Name, i)
		switch {
		case p == nil:
		case formal == nil && a.Name != "":
			return mserr.NotParameter(a.Name, proc.Name)
		case formal == nil:
			return mserr.TooManyProcArguments(proc.Name)
		case formal.TableTypeID != 0:
			return mserr.NotSupported("sp_describe_undeclared_parameters of table-valued parameters")
		default:
			p.Type, p.Formal, p.output = formal.Type, formal.Name, formal.Output && a.Output
		}
	}
	return nil
}

// formalParameter returns the parameter of a procedure with a name, or at a position without one;
// nil if there is none.
func formalParameter(proc *catalog.Procedure, name string, at int) *catalog.Param {
	for i := range proc.Params {
		if name == "" && i == at || name != "" && catalog.EqualNames(proc.Params[i].Name, name) {
			return &proc.Params[i]
		}
	}
	return nil
}

// undeclaredColumns are the columns of sp_describe_undeclared_parameters.
var undeclaredColumns = columns(`
	parameter_ordinal int, name sysname, suggested_system_type_id int, suggested_system_type_name nvarchar(256) NULL,
	suggested_max_length smallint, suggested_precision tinyint, suggested_scale tinyint, suggested_user_type_id int NULL,
	suggested_user_type_database sysname NULL, suggested_user_type_schema sysname NULL,
	suggested_user_type_name sysname NULL, suggested_assembly_qualified_type_name nvarchar(4000) NULL,
	suggested_xml_collection_id int NULL, suggested_xml_collection_database sysname NULL,
	suggested_xml_collection_schema sysname NULL, suggested_xml_collection_name sysname NULL,
	suggested_is_xml_document bit, suggested_is_case_sensitive bit, suggested_is_fixed_length_clr_type bit,
	suggested_is_input bit, suggested_is_output bit, formal_parameter_name sysname NULL, suggested_tds_type_id int,
	suggested_tds_length int`)

// describedParameter returns a row of sp_describe_undeclared_parameters.
func describedParameter(ordinal int, p *undeclared) []types.Value {
	t := p.Type
	var formal types.Value
	if p.Formal != "" {
		formal = p.Formal
	}
	id, length := tdsType(types.Column{Type: t, Nullable: true})
	return []types.Value{
		int64(ordinal), p.Name, int64(t.SystemTypeID()), t.String(), int64(t.MaxLength()), int64(t.SysPrecision()),
		int64(t.SysScale()), nil, nil, nil, nil, nil, nil, nil, nil, nil, int64(0),
		types.BitOf(t.IsCharacter() && !t.Collation.IgnoresCase()), int64(0), types.BitOf(p.input), types.BitOf(p.output), formal, id, length,
	}
}
