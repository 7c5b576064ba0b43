package exec

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// systemProcedure is a procedure of the server itself. Exactly one of raw, run and text is set.
type systemProcedure struct {
	name string
	// text is a procedure written in T-SQL.
	text *catalog.Procedure
	// raw gets the unchanged arguments. It is for procedures with a variable number of parameters.
	raw func(r *run, args []callArg) (int32, error)
	// run gets the arguments by parameter, converted to the types of the parameters.
	params []systemParam
	run    func(r *run, a arguments) (int32, error)
}

// systemParam is a parameter of a system procedure.
type systemParam struct {
	name     string // with '@'
	typ      types.Type
	optional bool // NULL if omitted
}

// arguments holds the values of a system procedure's parameters. The keys are in lower case and
// without '@'.
type arguments map[string]types.Value

// text returns an argument as a string, "" for NULL.
func (a arguments) text(name string) string {
	s, _ := a[name].(string)
	return s
}

// systemProcedures are the procedures that exist in every database, by name.
var systemProcedures map[string]*systemProcedure

// systemNames are the known procedures of SQL Server that are not supported here. A call fails with
// a message that says so.
var systemNames = map[string]bool{}

// init fills the tables. A composite literal would be an initialization cycle, because the methods
// refer to the table.
func init() {
	systemProcedures = map[string]*systemProcedure{}
	for _, p := range []*systemProcedure{
		{name: "sp_executesql", raw: (*run).executeSQL},
		{name: "sp_prepare", raw: (*run).prepareStatement},
		{name: "sp_execute", raw: (*run).executePrepared},
		{name: "sp_prepexec", raw: (*run).prepareAndExecute},
		{name: "sp_unprepare", raw: (*run).unprepare},
		{name: "sp_getapplock", run: (*run).getAppLock, params: []systemParam{
			{"@Resource", types.NVarCharOf(255), false}, {"@LockMode", types.VarCharOf(32), false},
			{"@LockOwner", types.VarCharOf(32), true},
			{"@LockTimeout", types.IntType, true}, {"@DbPrincipal", types.SysNameType, true},
		}},
		{name: "sp_releaseapplock", run: (*run).releaseAppLock, params: []systemParam{
			{"@Resource", types.NVarCharOf(255), false}, {"@LockOwner", types.VarCharOf(32), true},
			{"@DbPrincipal", types.SysNameType, true},
		}},
		{name: "sp_set_session_context", run: (*run).setSessionContext, params: []systemParam{
			{"@key", types.SysNameType, false}, {"@value", types.VariantType, false}, {"@read_only", types.BitType, true},
		}},
		{name: "sp_rename", run: func(r *run, a arguments) (int32, error) {
			return r.definer().Rename(a.text("objname"), a.text("newname"), a.text("objtype"))
		}, params: []systemParam{
			{"@objname", types.NVarCharOf(1035), false}, {"@newname", types.SysNameType, false},
			{"@objtype", types.VarCharOf(13), true},
		}},
		{name: "sp_settriggerorder", run: (*run).setTriggerOrder, params: []systemParam{
			{"@triggername", types.NVarCharOf(517), false}, {"@order", types.VarCharOf(10), false},
			{"@stmttype", types.VarCharOf(50), false}, {"@namespace", types.VarCharOf(10), true},
		}},
		{name: "sp_helptext", run: (*run).helpText, params: []systemParam{
			{"@objname", types.NVarCharOf(776), false}, {"@columnname", types.SysNameType, true},
		}},
		{name: "sp_describe_first_result_set", run: (*run).describeFirst, params: []systemParam{
			{"@tsql", types.NVarCharMax, false}, {"@params", types.NVarCharMax, true},
			{"@browse_information_mode", types.TinyIntType, true},
		}},
		{name: "sp_describe_undeclared_parameters", run: (*run).describeUndeclared, params: []systemParam{
			{"@tsql", types.NVarCharMax, false}, {"@params", types.NVarCharMax, true},
		}},
		{
			name: "sp_configure", run: (*run).configure,
			params: []systemParam{{"@configname", types.VarCharOf(35), true}, {"@configvalue", types.IntType, true}},
		},
		{name: "xp_regread", raw: (*run).readRegistry},
		{name: "xp_instance_regread", raw: (*run).readRegistry},
		{
			name: "sp_addrolemember", run: func(r *run, a arguments) (int32, error) {
				return r.definer().AddRoleMember(a.text("rolename"), a.text("membername"))
			},
			params: []systemParam{{"@rolename", types.SysNameType, false}, {"@membername", types.SysNameType, false}},
		},
		{
			name: "sp_droprolemember", run: func(r *run, a arguments) (int32, error) {
				return r.definer().DropRoleMember(a.text("rolename"), a.text("membername"))
			},
			params: []systemParam{{"@rolename", types.SysNameType, false}, {"@membername", types.SysNameType, false}},
		},
		{
			name: "sp_refreshview", run: func(r *run, a arguments) (int32, error) { return r.definer().RefreshModule(a.text("viewname")) },
			params: []systemParam{{"@viewname", types.NVarCharOf(776), false}},
		},
		{
			name: "sp_refreshsqlmodule", run: func(r *run, a arguments) (int32, error) { return r.definer().RefreshModule(a.text("name")) },
			params: []systemParam{{"@name", types.NVarCharOf(776), false}, {"@namespace", types.SysNameType, true}},
		},
		{
			name: "sp_recompile", run: (*run).recompile,
			params: []systemParam{{"@objname", types.NVarCharOf(776), false}},
		},
		{name: "sp_updatestats", run: func(*run, arguments) (int32, error) { return 0, nil }},
	} {
		systemProcedures[p.name] = p
	}
	for _, p := range append(clientProcedures(), propertyProcedures()...) {
		systemProcedures[p.name] = p
	}
	for _, n := range strings.Fields(`sp_addmessage sp_dropmessage 
		sp_dbcmptlevel sp_depends
		sp_bindefault sp_bindrule sp_attach_db
		sp_detach_db sp_addlinkedserver sp_addlinkedsrvlogin sp_serveroption sp_cursoropen sp_cursorfetch sp_cursorclose sp_cursor sp_cursoroption
		sp_cursorprepare sp_cursorexecute sp_cursorprepexec sp_cursorunprepare
		sp_xml_preparedocument sp_xml_removedocument
		sp_oacreate sp_oamethod sp_send_dbmail sp_add_job sp_start_job sp_add_jobstep sp_estimate_data_compression_savings sp_sequence_get_range
		sp_setapprole sp_unsetapprole sp_reset_connection sp_resetstatus sp_monitor sp_readerrorlog sp_cycle_errorlog sp_trace_create
		sp_invoke_external_rest_endpoint sp_testlinkedserver
		xp_cmdshell xp_logevent xp_sprintf xp_sscanf xp_readmail xp_regwrite xp_dirtree xp_fileexist 
		xp_fixeddrives xp_create_subdir xp_delete_file`) {
		systemNames[n] = true
	}
}

// findSystemProcedure returns the system procedure with a name, or nil. SQL Server looks up names
// with the prefix sp_ in its own schema first.
func (in *Instance) findSystemProcedure(n *syntax.ObjectName) *systemProcedure {
	if s := n.Schema(); s != "" && !session.EqualNames(s, "sys") && !session.EqualNames(s, "dbo") {
		return nil
	}
	name := catalog.Fold(n.Last())
	if p := systemProcedures[name]; p != nil {
		return p
	}
	if p := in.textProcedure(name); p != nil {
		return &systemProcedure{name: name, text: p}
	}
	return nil
}

// callSystemIn calls a system procedure. The procedure runs in the database of its qualified name
// (documentation of EXECUTE and of sp_executesql: EXEC db.sys.sp_executesql runs in db).
func (r *run) callSystemIn(name *syntax.ObjectName, p *systemProcedure, args []callArg) (int32, error) {
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
func (r *run) callSystem(p *systemProcedure, args []callArg) (int32, error) {
	if p.raw != nil {
		return p.raw(r, args)
	}
	if p.text != nil {
		if strings.HasPrefix(p.name, "xp_") { // extended procedures ignore the names of parameters
			args = slices.Clone(args)
			for i := range args {
				args[i].name = ""
			}
		}
		return r.callText(p.text, args)
	}
	vals, err := p.bind(r.s, args)
	if err != nil {
		return 0, err
	}
	code, err := p.run(r, vals)
	var e *mserr.Error
	if errors.As(err, &e) && e.Line == 0 {
		var f *failure.Error
		if !errors.As(err, &f) {
			c := *e
			c.Line, c.Proc = 1, p.name
			err = &c
		}
	}
	return code, err
}

// bind converts the arguments to the parameters.
func (p *systemProcedure) bind(s *Session, args []callArg) (arguments, error) {
	vals := arguments{}
	for i, a := range args {
		at, err := parameterOf(p.name, args, i, len(p.params), func(j int) string { return p.params[j].name })
		if err != nil {
			return nil, err
		}
		sp := p.params[at]
		key := sp.key()
		if _, duplicate := vals[key]; duplicate {
			return nil, mserr.DuplicateArgument(sp.name)
		}
		if a.isDefault {
			continue
		}
		v, err := s.Assign(a.val, a.typ, sp.typ)
		if err != nil {
			return nil, failure.Originated(argumentError(err, a.typ, sp.typ), failure.AtArgument)
		}
		vals[key] = v
	}
	for _, sp := range p.params {
		if _, given := vals[sp.key()]; !given && !sp.optional {
			return nil, mserr.MissingParameter(p.name, sp.name)
		}
	}
	return vals, nil
}

// key returns the parameter's key in arguments.
func (p systemParam) key() string { return strings.ToLower(p.name[1:]) }

// Return codes of sp_getapplock (documentation: sp_getapplock, "Return code values").
const (
	lockGranted    = 0
	lockWaited     = 1
	lockTimedOut   = -1
	lockVictim     = -3
	lockMisused    = -999
	maxAppLockName = 255 // number of significant characters of @Resource
)

// appLock evaluates the parameters that sp_getapplock and sp_releaseapplock share.
func (r *run) appLock(a arguments) (owner *lock.Owner, res lock.Resource, err error) {
	s := r.s
	d := s.DatabaseByID(s.DatabaseID)
	principal := "public"
	if a["dbprincipal"] != nil {
		principal = a.text("dbprincipal")
	}
	p := d.Principal(principal)
	if p == nil || !s.Sysadmin() && !s.OwnsDatabase(d) && !d.IsMember(s.Principal(d), p.ID) {
		return nil, res, mserr.New(1230, 16, "An invalid database principal was passed to %s.", "sp_getapplock")
	}
	name := a.text("resource")
	if utf8.RuneCountInString(name) > maxAppLockName {
		name = string([]rune(name)[:maxAppLockName])
	}
	if a["resource"] == nil { // an empty name is valid
		return nil, res, mserr.InvalidProcArgument("sys.xp_userlock")
	}
	res = lock.Resource{App: true, Database: s.DatabaseID, Principal: p.ID, Name: name}
	switch {
	case a["lockowner"] == nil, strings.EqualFold(a.text("lockowner"), "Transaction"):
		if s.Tran.Level == 0 {
			return nil, res, mserr.NeedsTransaction()
		}
		return s.Tran.Owner, res, nil
	case strings.EqualFold(a.text("lockowner"), "Session"):
		return s.LockOwner, res, nil
	}
	return nil, res, mserr.InvalidProcArgument("sys.xp_userlock")
}

// appLockError sends an error of a procedure for application locks. The procedure returns -999
// then.
func (r *run) appLockError(proc string, err error) (int32, error) {
	var e *mserr.Error
	if !errors.As(err, &e) {
		return lockMisused, err
	}
	c := *e
	c.Line, c.Proc = 1, proc
	return lockMisused, r.settle(nil, &c)
}

// getAppLock executes sp_getapplock.
func (r *run) getAppLock(a arguments) (int32, error) {
	const proc = "xp_userlock"
	owner, res, err := r.appLock(a)
	if err != nil {
		return r.appLockError(proc, err)
	}
	mode, ok := lock.ParseMode(a.text("lockmode"))
	if !ok {
		return r.appLockError(proc, mserr.InvalidProcArgument("sys.xp_userlock"))
	}
	timeout := r.s.LockTimeout()
	if ms, ok := a["locktimeout"].(int64); ok {
		switch {
		case ms == -1:
			timeout = lock.Forever
		case ms < -1:
			return r.appLockError(proc, mserr.InvalidProcArgument("sys.xp_userlock"))
		default:
			timeout = time.Duration(ms) * time.Millisecond
		}
	}
	waited, err := r.s.inst.Locks.Lock(r.ctx, owner, res, mode, timeout)
	switch {
	case err == nil && waited:
		return lockWaited, nil
	case err == nil:
		return lockGranted, nil
	case errors.Is(err, mserr.LockTimeout()):
		return lockTimedOut, nil
	case errors.Is(err, mserr.Deadlock(0, "")):
		return lockVictim, nil
	}
	return 0, err
}

// releaseAppLock executes sp_releaseapplock.
func (r *run) releaseAppLock(a arguments) (int32, error) {
	const proc = "xp_userlock"
	owner, res, err := r.appLock(a)
	if err != nil {
		return r.appLockError(proc, err)
	}
	err = r.s.inst.Locks.Unlock(owner, res)
	if errors.Is(err, lock.ErrNotHeld) {
		principal := "public"
		if a["dbprincipal"] != nil {
			principal = a.text("dbprincipal")
		}
		return r.appLockError(proc, mserr.ApplockNotHeld(principal, res.Name))
	}
	return 0, err
}

// maxContextKey is the maximum length of a key of SESSION_CONTEXT, in bytes of nvarchar.
const maxContextKey = 256

// setSessionContext executes sp_set_session_context.
func (r *run) setSessionContext(a arguments) (int32, error) {
	key, ok := a["key"].(string)
	if !ok || key == "" || 2*utf8.RuneCountInString(key) > maxContextKey {
		return 1, mserr.InvalidProcArgument("sys.sp_set_session_context")
	}
	flag, _ := a["read_only"].(int64)
	if err := r.s.SetContextValue(key, a["value"], flag != 0); err != nil {
		return 1, err
	}
	return 0, nil
}

// helpText executes sp_helptext: it returns the text of a module, one row a line.
func (r *run) helpText(a arguments) (int32, error) {
	if a["columnname"] != nil {
		return 1, mserr.NotSupported("sp_helptext of a column")
	}
	name := a.text("objname")
	o, d, err := r.object(session.SplitName(name))
	if err != nil {
		return 1, err
	}
	var m *catalog.Module
	switch o := o.(type) {
	case *catalog.View:
		m = &o.Module
	case *catalog.Procedure:
		m = &o.Module
	case *catalog.Function:
		m = &o.Module
	case nil:
		n := session.SplitName(name)
		for _, schema := range r.schemas(d, n.Schema()) {
			if k, ok := d.Constraint(schema, n.Last()); ok && m == nil {
				if tr, _ := d.Trigger(k.ObjectID); tr != nil {
					m = tr.Module()
				}
			}
		}
		if m == nil {
			return 1, mserr.NoSuchProcObject(name, d.Name)
		}
	default:
		return 1, mserr.New(15197, 16, "There is no text for object '%s'.", name)
	}
	if m.Encrypted {
		return 1, mserr.New(15471, 10, "The text for object '%s' is encrypted.", name)
	}
	if err := r.columns([]types.Column{{Name: "Text", Type: types.NVarCharOf(255), Nullable: true}}); err != nil {
		return 1, err
	}
	n := int64(0)
	for line := range strings.SplitAfterSeq(m.Text, "\n") {
		for line != "" {
			piece := line
			if runes := []rune(line); len(runes) > 255 {
				piece = string(runes[:255])
			}
			line = line[len(piece):]
			n++
			if err := sinkFailure(r.out.Row([]types.Value{piece})); err != nil {
				return 1, err
			}
		}
	}
	return 0, r.done(n, CommandSelect)
}

// readRegistry executes xp_regread and xp_instance_regread @rootkey, @key, @value_name, @value
// OUTPUT, 'no_output'. There is no registry, so that no value is found: the variable keeps its
// value, and a message is sent unless 'no_output' is given.
func (r *run) readRegistry(args []callArg) (int32, error) {
	if len(args) < 2 || len(args) > 5 {
		return 1, mserr.New(22001, 16, "Error executing extended stored procedure: Invalid Parameter")
	}
	if last, _ := args[len(args)-1].val.(string); len(args) > 3 && strings.EqualFold(last, "no_output") {
		return 0, nil
	}
	return 0, r.info(mserr.New(22001, 1,
		"RegQueryValueEx() returned error 2, 'The system cannot find the file specified.'"))
}

// recompile executes sp_recompile. It has no effect, because plans detect changes of definitions.
func (r *run) recompile(a arguments) (int32, error) {
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

// SetTriggerOrder executes sp_settriggerorder.
func (r *run) setTriggerOrder(a arguments) (int32, error) {
	if a["namespace"] != nil {
		return 1, mserr.NotSupported("DDL triggers")
	}
	return r.definer().SetTriggerOrder(a.text("triggername"), a.text("order"), a.text("stmttype"))
}
