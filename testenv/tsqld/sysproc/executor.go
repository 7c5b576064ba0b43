package sysproc

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/ddl"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/sysfunc"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Procedure is a procedure of the server itself.
type Procedure struct {
	Name string
	// Text is a procedure written in T-SQL, else nil.
	Text *catalog.Procedure
	// Raw says that the interpreter executes the procedure itself, with the unchanged arguments:
	// the number of its parameters varies.
	Raw bool
	// Params are the parameters of any other procedure. Their values are converted to these types.
	Params []Param
	run    func(r *Executor, a Arguments) (int32, error)
}

// Param is a parameter of a system procedure.
type Param struct {
	Name     string // with '@'
	Type     types.Type
	Optional bool // NULL if omitted
}

// Arguments holds the values of a system procedure's parameters by [param.Key].
type Arguments map[string]types.Value

// text returns an argument as a string, "" for NULL.
func (a Arguments) text(name string) string {
	s, _ := a[name].(string)
	return s
}

// Interpreter is what system procedures need of the interpreter of T-SQL.
type Interpreter interface {
	// Info sends an informational message to the client.
	Info(m *mserr.Error) error
	// Result sends a result set.
	Result(cols []types.Column, rows [][]types.Value) error
	// Report sends an error to its handler as the error of a statement. The procedure goes on.
	Report(err error) error
	// LocalTable returns the temporary table or table variable with a name, or nil.
	LocalTable(name string) *catalog.Table
	// FirstResult returns the columns of the first result set of a batch, nil without one.
	FirstResult(text, params string) ([]types.Column, error)
	// InScope calls do with a scope for the variables of another batch.
	InScope(do func(s Scope) error) error
}

// Scope compiles statements of another batch.
type Scope interface {
	// Declare declares a scalar variable.
	Declare(name string, ref *syntax.TypeRef) error
	// VariableType returns the type of a declared variable.
	VariableType(name string) (types.Type, bool)
	// Compiler returns a compiler that knows the declared variables.
	Compiler() *compile.Compiler
}

// Executor executes system procedures in one activation.
type Executor struct {
	ctx     context.Context
	s       *session.Session
	host    Interpreter
	library *Library
	objects sysfunc.Objects
	definer *ddl.Executor
	own     string // default schema of the activation
}

// New returns an executor for an activation with the default schema own in a session.
// objects and definer belong to the same activation.
func New(
	ctx context.Context, s *session.Session, host Interpreter, l *Library, objects sysfunc.Objects, definer *ddl.Executor,
	own string,
) *Executor {
	return &Executor{ctx: ctx, s: s, host: host, library: l, objects: objects, definer: definer, own: own}
}

// Execute executes a procedure that has no text and is not raw. It returns the return code.
func (r *Executor) Execute(p *Procedure, a Arguments) (int32, error) { return p.run(r, a) }

// object returns the object with a name and its database, or a nil object.
func (r *Executor) object(n *syntax.ObjectName) (catalog.Object, *catalog.Database, error) {
	return r.s.Object(n, r.own)
}

// systemProcedures are the procedures that exist in every database, by name.
var systemProcedures map[string]*Procedure

// Unsupported are the known procedures of SQL Server that are not supported here. A call fails with
// a message that says so.
var Unsupported = map[string]bool{}

// init fills the tables. A composite literal would be an initialization cycle, because the methods
// refer to the table.
func init() {
	systemProcedures = map[string]*Procedure{}
	for _, p := range []*Procedure{
		{Name: "sp_executesql", Raw: true},
		{Name: "sp_prepare", Raw: true},
		{Name: "sp_execute", Raw: true},
		{Name: "sp_prepexec", Raw: true},
		{Name: "sp_unprepare", Raw: true},
		{Name: "xp_regread", Raw: true},
		{Name: "xp_instance_regread", Raw: true},
		native("sp_getapplock", "@Resource nvarchar(255), @LockMode varchar(32), @LockOwner varchar(32) = NULL, "+
			"@LockTimeout int = NULL, @DbPrincipal sysname = NULL", (*Executor).getAppLock),
		native("sp_releaseapplock", "@Resource nvarchar(255), @LockOwner varchar(32) = NULL, @DbPrincipal sysname = NULL", (*Executor).releaseAppLock),
		native("sp_set_session_context", "@key nvarchar(4000), @value sql_variant, @read_only bit = NULL", (*Executor).setSessionContext),
		native("sp_rename", "@objname nvarchar(1035), @newname sysname, @objtype varchar(13) = NULL", func(r *Executor, a Arguments) (int32, error) {
			return r.definer.Rename(a.text("objname"), a.text("newname"), a.text("objtype"))
		}),
		native("sp_settriggerorder", "@triggername nvarchar(517), @order varchar(10), @stmttype varchar(50), @namespace varchar(10) = NULL",
			(*Executor).setTriggerOrder),
		native("sp_helptext", "@objname nvarchar(776), @columnname sysname = NULL", (*Executor).helpText),
		native("sp_describe_first_result_set", "@tsql nvarchar(max), @params nvarchar(max) = NULL, @browse_information_mode tinyint = NULL",
			(*Executor).describeFirst),
		native("sp_describe_undeclared_parameters", "@tsql nvarchar(max), @params nvarchar(max) = NULL", (*Executor).describeUndeclared),
		native("sp_configure", "@configname varchar(35) = NULL, @configvalue int = NULL", (*Executor).configure),
		native("sp_addrolemember", "@rolename sysname, @membername sysname", func(r *Executor, a Arguments) (int32, error) {
			return r.definer.AddRoleMember(a.text("rolename"), a.text("membername"))
		}),
		native("sp_droprolemember", "@rolename sysname, @membername sysname", func(r *Executor, a Arguments) (int32, error) {
			return r.definer.DropRoleMember(a.text("rolename"), a.text("membername"))
		}),
		native("sp_refreshview", "@viewname nvarchar(776)", func(r *Executor, a Arguments) (int32, error) {
			return r.definer.RefreshModule(a.text("viewname"))
		}),
		native("sp_refreshsqlmodule", "@name nvarchar(776), @namespace sysname = NULL", func(r *Executor, a Arguments) (int32, error) {
			return r.definer.RefreshModule(a.text("name"))
		}),
		native("sp_recompile", "@objname nvarchar(776)", (*Executor).recompile),
		native("sp_updatestats", "", func(*Executor, Arguments) (int32, error) { return 0, nil }),
	} {
		systemProcedures[p.Name] = p
	}
	for _, p := range slices.Concat(propertyProcedures(), messageProcedures()) {
		systemProcedures[p.Name] = p
	}
	for _, n := range strings.Fields(`
		sp_add_job sp_add_jobschedule sp_add_jobserver sp_add_jobstep sp_addextendedproc sp_addlinkedserver sp_addlinkedsrvlogin
		sp_addserver sp_attach_db sp_bindefault sp_bindrule sp_bindsession sp_catalogs
		sp_change_users_login sp_changeobjectowner sp_clean_db_free_space sp_control_plan_guide sp_create_plan_guide sp_createstats
		sp_cursor sp_cursor_list sp_cursorclose sp_cursorexecute sp_cursorfetch sp_cursoropen sp_cursoroption sp_cursorprepare
		sp_cursorprepexec sp_cursorunprepare sp_cycle_errorlog sp_dbcmptlevel sp_dbfixedrolepermission sp_delete_job sp_denylogin
		sp_describe_cursor sp_describe_cursor_columns sp_describe_cursor_tables sp_describe_parameter_encryption sp_detach_db
		sp_dropextendedproc sp_droplinkedsrvlogin sp_dropserver sp_estimate_data_compression_savings
		sp_fulltext_catalog sp_fulltext_column sp_fulltext_database sp_fulltext_service sp_fulltext_table sp_get_query_template
		sp_getbindtoken sp_grantlogin sp_helpextendedproc sp_helplinkedsrvlogin sp_helpntgroup sp_helpremotelogin sp_indexoption
		sp_invoke_external_rest_endpoint sp_migrate_user_to_contained sp_monitor sp_oacreate sp_oadestroy sp_oagetproperty
		sp_oamethod sp_oasetproperty sp_procoption sp_query_store_flush_db sp_query_store_force_plan sp_query_store_unforce_plan
		sp_readerrorlog sp_reset_connection sp_resetstatus sp_revokelogin sp_send_dbmail sp_server_diagnostics sp_serveroption
		sp_setapprole sp_srvrolepermission sp_start_job sp_stop_job sp_tableoption sp_tables_ex sp_testlinkedserver sp_trace_create
		sp_trace_setevent sp_trace_setstatus sp_unbindefault sp_unbindrule sp_unsetapprole sp_update_job sp_validatelogins
		sp_xml_preparedocument sp_xml_removedocument xp_cmdshell xp_create_subdir xp_delete_file xp_dirtree xp_fileexist
		xp_fixeddrives xp_logevent xp_loginconfig xp_logininfo xp_readerrorlog xp_readmail xp_regwrite xp_sprintf xp_sscanf`) {
		Unsupported[n] = true
	}
}

// native makes a procedure in Go. params declares its parameters as in T-SQL; one with "= NULL" may
// be omitted.
func native(name, params string, run func(r *Executor, a Arguments) (int32, error)) *Procedure {
	p := &Procedure{Name: name, run: run}
	for declaration := range strings.SplitSeq(params, ", ") {
		if declaration, isOptional := strings.CutSuffix(declaration, " = NULL"); declaration != "" {
			c := column(declaration)
			p.Params = append(p.Params, Param{c.Name, c.Type, isOptional})
		}
	}
	return p
}

// columns reads the declarations of the columns of a result set: "name type" or "name type NULL",
// separated by commas.
func columns(declarations string) (list []types.Column) {
	for declaration := range strings.SplitSeq(declarations, ",") {
		declaration, nullable := strings.CutSuffix(strings.TrimSpace(declaration), " NULL")
		c := column(declaration)
		c.Nullable = nullable
		list = append(list, c)
	}
	return list
}

// column reads "name type".
func column(declaration string) types.Column {
	name, typ, _ := strings.Cut(declaration, " ")
	typ, size, _ := strings.Cut(strings.TrimSuffix(typ, ")"), "(")
	var length []int
	if n, err := strconv.Atoi(size); err == nil {
		length = []int{n}
	} else if size == "max" {
		length = []int{types.Max}
	}
	t, err := types.Named(typ, length...)
	if err != nil { // cannot fail: the declarations are constants
		panic(err)
	}
	return types.Column{Name: name, Type: t}
}

// Key returns the parameter's key in arguments.
func (p Param) Key() string { return strings.ToLower(p.Name[1:]) }

// sendAll sends a result set and returns the return code.
func (r *Executor) sendAll(cols []types.Column, rows [][]types.Value) (int32, error) {
	if err := r.host.Result(cols, rows); err != nil {
		return 1, err
	}
	return 0, nil
}

// maxContextKey is the maximum length of a key of SESSION_CONTEXT, in bytes of nvarchar.
const maxContextKey = 256

// setSessionContext executes sp_set_session_context. Errors: 225 for a key that is NULL, 15666 for
// one that is empty or too long, 15600 if @read_only is NULL.
func (r *Executor) setSessionContext(a Arguments) (int32, error) {
	key, ok := a["key"].(string)
	switch {
	case !ok:
		return 1, mserr.Of(225)
	case key == "" || 2*utf8.RuneCountInString(key) > maxContextKey:
		return 1, mserr.Of(15666, key, maxContextKey)
	}
	readOnly, given := a["read_only"]
	if given && readOnly == nil {
		e := mserr.InvalidProcArgument("sp_set_connection_context")
		e.Class = 16
		return 1, e
	}
	flag, _ := readOnly.(int64)
	if err := r.s.SetContextValue(key, a["value"], flag != 0); err != nil {
		return 1, err
	}
	return 0, nil
}

// helpText executes sp_helptext: it returns the text of a module, one row a line.
func (r *Executor) helpText(a Arguments) (int32, error) {
	if a["columnname"] != nil {
		return 1, mserr.NotSupported("sp_helptext of a column")
	}
	name := a.text("objname")
	o, d, err := r.object(session.SplitName(name))
	if err != nil {
		return 1, err
	}
	m := catalog.ModuleOf(o)
	switch {
	case o == nil:
		n := session.SplitName(name)
		for _, schema := range r.s.Schemas(d, r.own, n.Schema()) {
			if k, ok := d.Constraint(schema, n.Last()); ok && m == nil {
				if tr, _ := d.Trigger(k.ObjectID); tr != nil {
					m = tr.Module()
				}
			}
		}
		if m == nil {
			return 1, mserr.NoSuchProcObject(name, d.Name)
		}
	case m == nil:
		return 1, mserr.Of(15197, name)
	}
	if m.Encrypted {
		return 1, mserr.Of(15471, name)
	}
	var rows [][]types.Value
	for line := range strings.SplitAfterSeq(m.Text, "\n") {
		for line != "" {
			piece := line
			if runes := []rune(line); len(runes) > 255 {
				piece = string(runes[:255])
			}
			line = line[len(piece):]
			rows = append(rows, []types.Value{piece})
		}
	}
	return r.sendAll(columns("Text nvarchar(255) NULL"), rows)
}

// recompile executes sp_recompile. It has no effect, because plans detect changes of definitions.
func (r *Executor) recompile(a Arguments) (int32, error) {
	name := a.text("objname")
	o, d, err := r.object(session.SplitName(name))
	if err != nil {
		return 1, err
	}
	if o == nil {
		return 1, mserr.NoSuchProcObject(name, d.Name)
	}
	return 0, nil
}

// setTriggerOrder executes sp_settriggerorder.
func (r *Executor) setTriggerOrder(a Arguments) (int32, error) {
	if a["namespace"] != nil {
		return 1, mserr.NotSupported("a DDL trigger")
	}
	return r.definer.SetTriggerOrder(a.text("triggername"), a.text("order"), a.text("stmttype"))
}

// Find returns the system procedure with a name, or nil. SQL Server looks up names
// with the prefix sp_ in its own schema first.
func (l *Library) Find(n *syntax.ObjectName) *Procedure {
	if s := n.Schema(); s != "" && !catalog.EqualNames(s, "sys") && !catalog.EqualNames(s, "dbo") {
		return nil
	}
	name := catalog.Fold(n.Last())
	if p := systemProcedures[name]; p != nil {
		return p
	}
	if p := l.textProcedure(name); p != nil {
		return &Procedure{Name: name, Text: p}
	}
	return nil
}
