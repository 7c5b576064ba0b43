package builtin

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Version is @@VERSION. It names tsqld, in a form in which clients find the version of SQL Server
// that it follows.
const Version = "Microsoft SQL Server 2022 compatible - 16.0.1000.6 (X64) tsqld, the embedded T-SQL server of jobagent"

// identityType is the type of @@IDENTITY and similar functions.
var identityType = types.Type{ID: types.Decimal, Precision: 38, Numeric: true}

// number makes a session function that returns an integer.
func number(name string, result types.Type, f func(Env) int64) *Func {
	return session(name, 0, 0, result, func(env Env, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
		return f(env), nil
	})
}

// word makes a session function that returns a text.
func word(name string, result types.Type, f func(Env) string) *Func {
	return session(name, 0, 0, result, func(env Env, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
		return f(env), nil
	})
}

// sessionFuncs return the state of the session and the server ("System functions", "Configuration
// functions (Transact-SQL)").
var sessionFuncs = []*Func{
	number("@@ROWCOUNT", types.IntType, func(e Env) int64 { return e.RowCount() }),
	number("ROWCOUNT_BIG", types.BigIntType, func(e Env) int64 { return e.RowCount() }),
	number("@@ERROR", types.IntType, func(e Env) int64 { return int64(e.LastError()) }),
	number("@@TRANCOUNT", types.IntType, func(e Env) int64 { return int64(e.TranCount()) }),
	number("@@SPID", types.SmallIntType, func(e Env) int64 { return int64(e.SPID()) }),
	number("@@NESTLEVEL", types.IntType, func(e Env) int64 { return int64(e.NestLevel()) }),
	number("@@PROCID", types.IntType, func(e Env) int64 { return int64(e.ProcID()) }),
	session("TRIGGER_NESTLEVEL", 0, 3, types.IntType, evalTriggerNestLevel),
	session("COLUMNS_UPDATED", 0, 0, types.Type{ID: types.VarBinary, Length: 128}, evalColumnsUpdated),
	number("@@OPTIONS", types.IntType, func(e Env) int64 { return int64(e.Options()) }),
	number("@@LOCK_TIMEOUT", types.IntType, func(e Env) int64 { return int64(e.Option("LOCK_TIMEOUT")) }),
	number("@@TEXTSIZE", types.IntType, func(e Env) int64 { return int64(e.Option("TEXTSIZE")) }),
	number("@@DATEFIRST", types.TinyIntType, func(e Env) int64 { return int64(e.Option("DATEFIRST")) }),
	number("@@FETCH_STATUS", types.IntType, func(e Env) int64 { return int64(e.FetchStatus()) }),
	number("@@CURSOR_ROWS", types.IntType, func(e Env) int64 { return int64(e.CursorRows()) }),
	number("@@MAX_CONNECTIONS", types.IntType, func(Env) int64 { return 32767 }),
	number("@@MAX_PRECISION", types.TinyIntType, func(Env) int64 { return 38 }),
	number("@@MICROSOFTVERSION", types.IntType, func(Env) int64 { return 15<<24 | 4000 }),
	number("@@LANGID", types.SmallIntType, func(e Env) int64 { return int64(e.Locale().Language) }),
	number("XACT_STATE", types.SmallIntType, func(e Env) int64 { return int64(e.XactState()) }),
	number("CURRENT_TRANSACTION_ID", types.BigIntType, func(e Env) int64 { return e.TransactionID() }),
	word("@@VERSION", types.NVarCharOf(300), func(Env) string { return Version }),
	word("@@SERVERNAME", types.SysName, func(e Env) string { return e.ServerName() }),
	word("@@SERVICENAME", types.SysName, func(Env) string { return "MSSQLSERVER" }),
	word("@@LANGUAGE", types.SysName, func(e Env) string { return types.LanguageOf(e.Locale()).Name }),
	word("@@REMSERVER", types.SysName, func(Env) string { return "" }),
	word("HOST_NAME", types.SysName, func(e Env) string { return e.HostName() }),
	word("APP_NAME", types.SysName, func(e Env) string { return e.AppName() }),
	session("@@DBTS", 0, 0, types.VarBinaryOf(8), func(e Env, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
		return e.LastRowVersion()
	}),
	session("@@IDENTITY", 0, 0, identityType, evalIdentity(false)),
	session("SCOPE_IDENTITY", 0, 0, identityType, evalIdentity(true)),
	session("IDENT_CURRENT", 1, 1, identityType, evalIdent(0)),
	session("IDENT_SEED", 1, 1, identityType, evalIdent(1)),
	session("IDENT_INCR", 1, 1, identityType, evalIdent(2)),
	session("SESSION_CONTEXT", 1, 1, types.VariantType, evalSessionContext),
	session("CONTEXT_INFO", 0, 0, types.VarBinaryOf(128), evalContextInfo),
	session("SERVERPROPERTY", 1, 1, types.VariantType, evalServerProperty),
	session("CONNECTIONPROPERTY", 1, 1, types.VariantType, evalConnectionProperty),
	session("SESSIONPROPERTY", 1, 1, types.VariantType, evalSessionProperty),
	session("CURSOR_STATUS", 2, 2, types.SmallIntType, evalCursorStatus),
	session("APPLOCK_MODE", 3, 3, types.NVarCharOf(32), evalApplockMode),
	session("APPLOCK_TEST", 4, 4, types.SmallIntType, evalApplockTest),
	session("GETANSINULL", 0, 1, types.IntType, func(Env, []types.Type, types.Type, []types.Value) (types.Value, error) { return int64(1), nil }),
	pure("SQL_VARIANT_PROPERTY", 2, 2, fixed(types.VariantType), evalVariantProperty),
}

// errorFuncs return the error that a CATCH block handles; NULL outside of CATCH blocks.
var errorFuncs = []*Func{
	caught("ERROR_NUMBER", types.IntType, func(c *Caught) types.Value { return int64(c.Number) }),
	caught("ERROR_SEVERITY", types.IntType, func(c *Caught) types.Value { return int64(c.Severity) }),
	caught("ERROR_STATE", types.IntType, func(c *Caught) types.Value { return int64(c.State) }),
	caught("ERROR_LINE", types.IntType, func(c *Caught) types.Value { return int64(c.Line) }),
	caught("ERROR_MESSAGE", types.NVarCharOf(4000), func(c *Caught) types.Value { return types.Left(c.Message, 4000) }),
	caught("ERROR_PROCEDURE", types.SysName, func(c *Caught) types.Value {
		if c.Procedure == "" {
			return nil
		}
		return c.Procedure
	}),
}

// caught makes one of errorFuncs.
func caught(name string, result types.Type, f func(*Caught) types.Value) *Func {
	return session(name, 0, 0, result, func(env Env, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
		if c := env.Caught(); c != nil {
			return f(c), nil
		}
		return nil, nil
	})
}

func evalIdentity(scope bool) evalFunc {
	return func(env Env, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
		return env.Identity(scope), nil
	}
}

// evalIdent returns a property of a table's identity column: 0 the last value, 1 the seed, 2 the
// increment.
func evalIdent(which int) evalFunc {
	return func(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
		_, schema, name, err := objectName(args[0], ts[0])
		if err != nil || name == "" {
			return nil, err
		}
		last, seed, increment, ok := env.IdentCurrent(schema, name)
		if !ok {
			return nil, nil
		}
		return [...]types.Value{last, seed, increment}[which], nil
	}
}

// evalSessionContext requires a text key; the compiler raises error 8116 for literals of other
// types.
func evalSessionContext(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	key, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	return env.SessionContext(key), nil
}

func evalContextInfo(env Env, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
	if b := env.ContextInfo(); b != nil {
		return b, nil
	}
	return nil, nil
}

// property packs the result of one of Env's property methods.
func property(v types.Value, t types.Type, ok bool) (types.Value, error) {
	if !ok || v == nil {
		return nil, nil
	}
	return types.VariantPack(v, t)
}

func evalServerProperty(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	name, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	return property(env.ServerProperty(types.TrimBlanks(name)))
}

func evalConnectionProperty(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	name, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	return property(env.ConnectionProperty(types.TrimBlanks(name)))
}

// optionBits are the bits of @@OPTIONS that SESSIONPROPERTY shows ("user options").
var optionBits = map[string]int{
	"ANSI_NULLS": 32, "ANSI_PADDING": 16, "ANSI_WARNINGS": 8, "ARITHABORT": 64, "CONCAT_NULL_YIELDS_NULL": 4096,
	"NUMERIC_ROUNDABORT": 8192, "QUOTED_IDENTIFIER": 256,
}

func evalSessionProperty(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	name, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	bit, ok := optionBits[strings.ToUpper(types.TrimBlanks(name))]
	if !ok {
		return nil, nil
	}
	return types.VariantPack(flag(env.Options()&bit != 0), types.IntType)
}

// flag returns 1 or 0.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func evalCursorStatus(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	return int64(env.CursorStatus(strings.ToLower(a[0]), a[1])), nil
}

func evalApplockMode(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	return env.ApplockMode(a[0], a[1], a[2]), nil
}

func evalApplockTest(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	return flag(env.ApplockTest(a[0], a[1], a[2], a[3])), nil
}

// texts reads all arguments as texts; nil if one of them is NULL.
func texts(ts []types.Type, args []types.Value) ([]string, error) {
	out := make([]string, len(args))
	for i, a := range args {
		if a == nil {
			return nil, nil
		}
		s, err := convert.Text(a, ts[i])
		if err != nil {
			return nil, err
		}
		out[i] = types.TrimBlanks(s)
	}
	return out, nil
}

// evalVariantProperty returns a property of the base type of a sql_variant, or of another value's
// type.
func evalVariantProperty(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	t, v := ts[0], args[0]
	if t.ID == types.Variant {
		var err error
		if t, v, err = types.VariantUnpack(v); err != nil {
			return nil, err
		}
	}
	name, err := convert.Text(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(types.TrimBlanks(name)) {
	case "basetype":
		return types.VariantPack(t.Name(), types.SysName)
	case "precision":
		return types.VariantPack(int64(t.SysPrecision()), types.IntType)
	case "scale":
		return types.VariantPack(int64(t.SysScale()), types.IntType)
	case "maxlength":
		return types.VariantPack(int64(t.MaxLength()), types.IntType)
	case "totalbytes":
		return types.VariantPack(int64(types.DataLength(v, t)+2), types.IntType)
	case "collation":
		if t.IsCharacter() {
			return types.VariantPack(t.Collation.String(), types.SysName)
		}
	}
	return nil, nil
}

// evalTriggerNestLevel evaluates TRIGGER_NESTLEVEL. Unknown types and categories, and NULL, return
// NULL (documentation of TRIGGER_NESTLEVEL).
func evalTriggerNestLevel(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	object, kind := 0, ""
	for i, a := range args {
		if a == nil {
			return nil, nil
		}
		switch i {
		case 0:
			n, err := convert.Integer(a, ts[i])
			if err != nil {
				return nil, err
			}
			object = n
		case 1:
			kind, _ = a.(string)
			if !strings.EqualFold(kind, "AFTER") && !strings.EqualFold(kind, "IOT") {
				return nil, nil
			}
		case 2:
			if category, _ := a.(string); !strings.EqualFold(category, "DML") {
				return int64(0), nil // there are no DDL triggers
			}
		}
	}
	return int64(env.TriggerNestLevel(int32(object), strings.EqualFold(kind, "IOT"), strings.EqualFold(kind, "AFTER"))), nil
}

// evalColumnsUpdated evaluates COLUMNS_UPDATED.
func evalColumnsUpdated(env Env, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
	bits, ok := env.ColumnsUpdated()
	if !ok {
		return nil, mserr.UpdateOutsideTrigger()
	}
	return bits, nil
}
