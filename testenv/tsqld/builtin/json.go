package builtin

import (
	"errors"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/jsontext"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// jsonFuncs read and change JSON texts ("JSON functions (Transact-SQL)").
//
// JSON_MODIFY takes a hidden fourth argument, a bit. It is 1 if the new value is JSON itself (from
// JSON_QUERY, JSON_MODIFY or FOR JSON) and must not be quoted.
var jsonFuncs = []*Func{
	long("ISJSON", 1, 2, fixed(types.IntType), evalIsJSON),
	long("JSON_VALUE", 2, 2, jsonResult("json_value", types.NVarCharOf(4000)), evalJSONValue),
	long("JSON_QUERY", 1, 2, jsonResult("json_query", types.NVarCharMax), evalJSONQuery),
	longLenient("JSON_MODIFY", 3, 3, jsonModifyResult, evalJSONModify),
	long("JSON_PATH_EXISTS", 2, 2, fixed(types.IntType), evalPathExists),
}

// jsonResult requires texts.
func jsonResult(name string, t types.Type) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) {
		for i, a := range args[:min(len(args), 2)] {
			if !a.IsCharacter() && a.ID != types.Null {
				return types.Type{}, mserr.InvalidArgumentType(a.MessageName(), i+1, name)
			}
		}
		return t, nil
	}
}

// jsonModifyResult accepts texts, numbers and bit as the new value, but not money (SQL Server 2022,
// recorded).
func jsonModifyResult(args []types.Type, consts []types.Value) (types.Type, error) {
	if v := args[2]; v.IsMoney() || v.IsTemporal() || v.IsBinary() || v.ID == types.UniqueIdentifier || v.ID == types.XML {
		return types.Type{}, mserr.InvalidArgumentType(v.MessageName(), 3, "json_modify")
	}
	return jsonResult("json_modify", types.NVarCharMax)(args, consts)
}

// evalIsJSON returns 1 for an object or array, or for a value of the given type (VALUE, SCALAR,
// OBJECT, ARRAY).
func evalIsJSON(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	s, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	want := ""
	if len(args) > 1 {
		if want, err = convert.Text(args[1], ts[1]); err != nil {
			return nil, err
		}
	}
	kind, err := jsontext.KindOf(m, s)
	if stopped(err) {
		return nil, err
	}
	if err != nil {
		return int64(0), nil
	}
	switch strings.ToUpper(want) {
	case "VALUE":
		return int64(1), nil
	case "SCALAR":
		return flag(kind == jsontext.String || kind == jsontext.Number), nil
	case "OBJECT":
		return flag(kind == jsontext.Object), nil
	case "ARRAY":
		return flag(kind == jsontext.Array), nil
	case "":
		return flag(kind == jsontext.Object || kind == jsontext.Array), nil
	}
	return nil, mserr.NotRecognized(want, "JSON type constraint")
}

// jsonPathArgs returns the text and the path ("$" by default) of a call.
func jsonPathArgs(ts []types.Type, args []types.Value) (s, path string, err error) {
	if s, err = convert.Text(args[0], ts[0]); err != nil {
		return "", "", err
	}
	if len(args) < 2 {
		return s, "$", nil
	}
	path, err = convert.Text(args[1], ts[1])
	return s, path, err
}

// stopped reports whether an error is that of a canceled request.
func stopped(err error) bool {
	var s *meter.Stopped
	return errors.As(err, &s)
}

func evalJSONValue(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	s, path, err := jsonPathArgs(ts, args)
	if err != nil {
		return nil, err
	}
	return jsontext.Value(m, s, path)
}

func evalJSONQuery(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	s, path, err := jsonPathArgs(ts, args)
	if err != nil {
		return nil, err
	}
	return jsontext.Query(m, s, path)
}

func evalPathExists(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	s, path, err := jsonPathArgs(ts, args)
	if err != nil {
		return nil, err
	}
	ok, err := jsontext.Exists(m, s, path)
	return flag(ok), err
}

func evalJSONModify(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil || args[1] == nil {
		return nil, nil
	}
	s, path, err := jsonPathArgs(ts, args)
	if err != nil {
		return nil, err
	}
	isRaw := len(args) > 3 && args[3] != types.Value(int64(0)) && args[3] != nil
	changed, err := jsontext.Modify(m, s, path, args[2], ts[2], isRaw)
	if err != nil {
		return nil, err
	}
	return changed, nil
}
