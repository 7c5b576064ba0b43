package exec

import (
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// functions calls user-defined functions.
type functions struct{ *run }

// localFunction returns the function of the session with a key, or nil for other keys.
func (s *Session) localFunction(key string) (store.Func, error) {
	r := s.running
	if r == nil {
		return nil, nil
	}
	if fn, err := keys.EnvFunc(&r.env, key); fn != nil || err != nil {
		return fn, err
	}
	switch {
	case strings.HasPrefix(key, keys.LocalRowVersion):
		id, err := strconv.Atoi(key[len(keys.LocalRowVersion):])
		if err != nil {
			return nil, mserr.NotSupported("the function key %s", key)
		}
		return func(*meter.Meter, []types.Value) (types.Value, error) { return r.s.Counters.NextRowVersion(r.ctx, id) }, nil
	case strings.HasPrefix(key, keys.LocalUnclaimed):
		d, _, claim, err := keys.ParseClaim(key)
		return func(*meter.Meter, []types.Value) (types.Value, error) {
			return types.BitOf(r.s.Parking.Unclaimed(d, string(claim))), nil
		}, err
	case strings.HasPrefix(key, keys.LocalClaim):
		d, object, claim, err := keys.ParseClaim(key)
		return func(_ *meter.Meter, args []types.Value) (types.Value, error) {
			row, _ := args[0].(int64)
			return types.BitOf(r.s.Parking.Claim(d, object, string(claim), row)), nil
		}, err
	case strings.HasPrefix(key, keys.LocalFunction):
		d, object, err := keys.Object(key, keys.LocalFunction)
		return func(_ *meter.Meter, args []types.Value) (types.Value, error) {
			return functions{r}.scalarFunction(d, object, args)
		}, err
	case strings.HasPrefix(key, keys.LocalTableFunction):
		d, object, err := keys.Object(key, keys.LocalTableFunction)
		return func(_ *meter.Meter, args []types.Value) (types.Value, error) {
			return functions{r}.tableFunction(d, object, args)
		}, err
	}
	return r.changes.Function(key)
}

// functionUnit returns the unit of a function with a body. The definition of the function caches
// it.
func functionUnit(f *catalog.Function) (*unit.Unit, error) {
	v, err := f.Memo.Get(func() (any, error) {
		st, err := module.Parse(&f.Module)
		if err != nil {
			return nil, err
		}
		fn, ok := st.(*syntax.CreateFunctionStmt)
		if !ok {
			return nil, mserr.NotSupported("the stored text of function %s", f.Name)
		}
		u := &unit.Unit{
			Body: fn.Body, Params: fn.Params, Returns: f.Returns, IsTable: fn.TableVar != "", TableVar: fn.TableVar,
		}
		u.Share(&f.Module)
		return u, u.Check(nil)
	})
	if err != nil {
		return nil, err
	}
	u, ok := v.(*unit.Unit)
	if !ok {
		return nil, mserr.NotSupported("running the inline function %s", f.Name)
	}
	return u, nil
}

// function returns the function with an ID and its database.
func (s *Session) function(database int, object int32) (*catalog.Database, *catalog.Function, error) {
	d := s.DatabaseByID(database)
	if d == nil {
		return nil, nil, mserr.NoDatabase(strconv.Itoa(database))
	}
	f, ok := d.ObjectByID(object).(*catalog.Function)
	if !ok {
		return nil, nil, mserr.InvalidObject(strconv.Itoa(int(object)))
	}
	return d, f, nil
}

// enterFunction executes the body of a function in a new activation. result reads the return value.
func (r functions) enterFunction(
	d *catalog.Database, fn *catalog.Function, args []types.Value, result func(f *frame) error,
) error {
	s := r.s
	if calls(r).nesting() >= maxNesting {
		return mserr.NestingLevel(maxNesting)
	}
	u, err := functionUnit(fn)
	if err != nil {
		return err
	}
	schema := "dbo"
	if sc := d.SchemaByID(fn.SchemaID); sc != nil {
		schema = sc.Name
	}
	f := &frame{
		kind: functionFrame, unit: u, name: fn.Name, procID: fn.ObjectID, schema: schema, owner: d.Owner(fn),
		nestLevel: calls(r).nesting() + 1,
	}
	savedRows, savedError, savedNow, savedIn, savedTries := s.RowCount, s.LastError, s.StatementTime, r.inFunction, r.tries
	s.functionDepth++
	// An error inside the function must end the function even if a TRY block surrounds the calling
	// statement. Counting the function as a TRY block that does not belong to its frame has this
	// effect.
	r.inFunction = true
	r.tries++
	defer func() {
		s.functionDepth--
		s.RowCount, s.LastError, s.StatementTime, r.inFunction, r.tries = savedRows, savedError, savedNow, savedIn, savedTries
	}()
	err = calls(r).inFrame(f, func() error {
		s.DatabaseID = d.ID
		s.EnterModule(&fn.Module)
		resolved := declarations(r).resolve(f)
		for i, p := range u.Params {
			if err := resolved.Params[i].Err; err != nil {
				return err
			}
			var v types.Value
			if i < len(args) {
				v = args[i]
			}
			f.declare(p.Name, resolved.Params[i].Type, v)
		}
		if err := s.ModuleIdentity(d, &fn.Module, f.owner, f.level); err != nil {
			return err
		}
		if u.IsTable {
			t, err := r.returnTable(fn, f)
			if err != nil {
				return err
			}
			if err := declarations(r).makeTableVar(u.TableVar, t); err != nil {
				return err
			}
		}
		if err := declarations(r).variables(f); err != nil {
			return err
		}
		if _, err := r.list(u.Body); err != nil {
			return err
		}
		return result(f)
	})
	return plainError(err)
}

// plainError returns the message in the failure of a function, so that the calling statement fails
// with it.
func plainError(err error) error {
	if err == nil {
		return nil
	}
	f, ok := failure.As(err)
	if !ok {
		return err
	}
	c := *f.Err
	return &c
}

// returnTable returns the definition of a multi-statement function's result variable.
func (r functions) returnTable(fn *catalog.Function, f *frame) (*catalog.Table, error) {
	u := f.unit
	return u.Shape(unit.ShapeKey{Level: f.level}, func() (*catalog.Table, error) {
		if fn.Table == nil {
			return nil, mserr.NotSupported("the result table of function %s", fn.Name)
		}
		return copyShape(fn.Table, u.TableVar, f.level), nil
	})
}

// scalarFunction calls a scalar function.
func (r functions) scalarFunction(database int, object int32, args []types.Value) (types.Value, error) {
	d, fn, err := r.s.function(database, object)
	if err != nil {
		return nil, err
	}
	if fn.ReturnsNullOnNull {
		for _, a := range args {
			if a == nil {
				return nil, nil
			}
		}
	}
	var v types.Value
	err = r.enterFunction(d, fn, args, func(f *frame) error {
		v = f.result
		return nil
	})
	return v, err
}

// tableFunction calls a multi-statement table-valued function.
func (r functions) tableFunction(database int, object int32, args []types.Value) (types.Value, error) {
	d, fn, err := r.s.function(database, object)
	if err != nil {
		return nil, err
	}
	var out types.Value
	err = r.enterFunction(d, fn, args, func(f *frame) error {
		tv := f.tableVar(f.unit.TableVar)
		rows, err := r.s.AllColumns(r.ctx, tv.table)
		if err != nil {
			return err
		}
		out = keys.EncodeRows(rows)
		return nil
	})
	return out, err
}

// callFunctionByExec executes EXEC @v = dbo.function args.
func (r functions) callFunctionByExec(d *catalog.Database, fn *catalog.Function, args []callArg) (result, error) {
	if !r.s.May(d, "EXECUTE", catalog.Securable{Class: catalog.ClassObject, Major: int(fn.ObjectID)}) {
		return result{}, session.PermissionDenied(d, fn, "EXECUTE")
	}
	vals := make([]types.Value, len(fn.Params))
	set := make([]bool, len(fn.Params))
	for i, a := range args {
		at, err := parameterOf(fn.Name, args, i, len(fn.Params), func(j int) string { return fn.Params[j].Name })
		if err != nil {
			return result{}, err
		}
		if a.isDefault {
			continue
		}
		v, err := r.s.Assign(a.val, a.typ, fn.Params[at].Type)
		if err != nil {
			return result{}, failure.Originated(argumentError(err, a.typ, fn.Params[at].Type), failure.AtArgument)
		}
		vals[at], set[at] = v, true
	}
	for i, p := range fn.Params {
		if set[i] {
			continue
		}
		if !p.HasDefault {
			return result{}, mserr.MissingParameter(fn.Name, p.Name)
		}
		e, err := parser.ParseExpr(p.Default, parser.DefaultOptions)
		if err != nil {
			return result{}, err
		}
		if vals[i], err = r.value(e, p.Type); err != nil {
			return result{}, err
		}
	}
	v, err := r.scalarFunction(d.ID, fn.ObjectID, vals)
	return result{val: v, typ: fn.Returns}, err
}
