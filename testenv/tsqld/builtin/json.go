package builtin

import (
	"encoding/base64"
	"errors"
	"strings"

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
	longLenient("JSON_MODIFY", 3, 3, jsonResult("json_modify", types.NVarCharMax), evalJSONModify),
	long("JSON_PATH_EXISTS", 2, 2, fixed(types.IntType), evalPathExists),
}

// jsonResult requires texts.
func jsonResult(name string, t types.Type) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) {
		for i, a := range args[:min(len(args), 2)] {
			if !a.IsCharacter() && a.ID != types.Null {
				return types.Type{}, mserr.InvalidArgumentType(a.Name(), i+1, name)
			}
		}
		return t, nil
	}
}

// evalIsJSON returns 1 for an object or array, or for a value of the given type (VALUE, SCALAR,
// OBJECT, ARRAY).
func evalIsJSON(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	s, err := text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	want := ""
	if len(args) > 1 {
		if want, err = text(args[1], ts[1]); err != nil {
			return nil, err
		}
	}
	v, err := scanJSON(m, s)
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
		return flag(v.kind == jsonString || v.kind == jsonNumber), nil
	case "OBJECT":
		return flag(v.kind == jsonObject), nil
	case "ARRAY":
		return flag(v.kind == jsonArray), nil
	case "":
		return flag(v.kind == jsonObject || v.kind == jsonArray), nil
	}
	return nil, mserr.NotRecognized(want, "JSON type constraint")
}

// jsonArgs reads a text and a path ("$" by default). The text of a JSON function must be an object
// or array.
func jsonArgs(m *meter.Meter, ts []types.Type, args []types.Value) (s string, root jsonSpan, path JSONPath, err error) {
	if s, err = text(args[0], ts[0]); err != nil {
		return
	}
	spec := "$"
	if len(args) > 1 {
		if spec, err = text(args[1], ts[1]); err != nil {
			return
		}
	}
	if path, err = ParseJSONPath(spec); err != nil {
		return
	}
	root, err = scanJSON(m, s)
	return
}

// stopped reports whether an error is that of a canceled request.
func stopped(err error) bool {
	var s *meter.Stopped
	return errors.As(err, &s)
}

// jsonAt finds the value at the path of JSON_VALUE or JSON_QUERY; ok is false if a lax path has no
// value. Error 13608 for a strict path without a value.
func jsonAt(m *meter.Meter, ts []types.Type, args []types.Value) (s string, v jsonSpan, path JSONPath, ok bool, err error) {
	s, root, path, err := jsonArgs(m, ts, args)
	if err != nil {
		return "", jsonSpan{}, JSONPath{}, false, err
	}
	if v, ok, err = find(m, s, root, path.steps); err == nil && !ok && path.isStrict {
		err = mserr.JSONProperty()
	}
	return s, v, path, ok, err
}

func evalJSONValue(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	s, v, path, ok, err := jsonAt(m, ts, args)
	switch {
	case err != nil || !ok:
		return nil, err
	case v.kind == jsonArray || v.kind == jsonObject:
		if path.isStrict {
			return nil, mserr.JSONScalar()
		}
		return nil, nil
	}
	r := scalar(s, v)
	if t, ok := r.(string); ok && len(t) > maxUnits && types.Units(t) > maxUnits {
		if path.isStrict {
			return nil, mserr.JSONTruncated()
		}
		return nil, nil
	}
	return r, nil
}

func evalJSONQuery(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	s, v, path, ok, err := jsonAt(m, ts, args)
	switch {
	case err != nil || !ok:
		return nil, err
	case v.kind != jsonArray && v.kind != jsonObject:
		if path.isStrict {
			return nil, mserr.JSONObject()
		}
		return nil, nil
	}
	return v.of(s), nil
}

func evalPathExists(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	s, root, path, err := jsonArgs(m, ts, args)
	if err != nil {
		return nil, err
	}
	_, ok, err := find(m, s, root, path.steps)
	return flag(ok), err
}

// evalJSONModify sets, inserts, deletes (NULL, lax) or appends a value. The rest of the text keeps
// its layout.
func evalJSONModify(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil || args[1] == nil {
		return nil, nil
	}
	s, err := text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	spec, err := text(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	path, err := parseJSONPath(spec, true)
	if err != nil {
		return nil, err
	}
	root, err := scanJSON(m, s)
	if err != nil {
		return nil, err
	}
	isRaw := false
	if len(args) > 3 {
		n, _ := args[3].(int64)
		isRaw = n != 0
	}
	fresh := "null"
	if args[2] != nil {
		if fresh, err = JSONText(args[2], ts[2], isRaw); err != nil {
			return nil, err
		}
	}
	return modify(m, s, root, path, fresh, args[2] == nil)
}

// modify replaces the value at path by fresh.
func modify(m *meter.Meter, s string, root jsonSpan, path JSONPath, fresh string, isNull bool) (types.Value, error) {
	target, ok, err := find(m, s, root, path.steps)
	if err != nil {
		return nil, err
	}
	if path.isAppend {
		switch {
		case ok && target.kind == jsonArray:
			return insertAt(s, target, fresh), nil
		case ok && path.isStrict, !ok && path.isStrict:
			return nil, mserr.JSONProperty()
		case ok: // lax: no change if it is not an array
			return s, nil
		}
		fresh, isNull = "["+fresh+"]", false
	}
	switch {
	case ok && isNull && !path.isStrict && len(path.steps) > 0:
		last := path.steps[len(path.steps)-1]
		if last.isIndex { // an element of an array becomes null
			return s[:target.start] + "null" + s[target.end:], nil
		}
		parent, _, err := find(m, s, root, path.steps[:len(path.steps)-1])
		if err != nil {
			return nil, err
		}
		return deleteMember(m, s, parent, last.key)
	case ok:
		return s[:target.start] + fresh + s[target.end:], nil
	case path.isStrict:
		return nil, mserr.JSONProperty()
	case isNull || len(path.steps) == 0:
		return s, nil
	}
	// A new member of an existing object. Elements beyond the end of an array are not created.
	last := path.steps[len(path.steps)-1]
	parent, ok, err := find(m, s, root, path.steps[:len(path.steps)-1])
	if err != nil {
		return nil, err
	}
	if !ok || last.isIndex || parent.kind != jsonObject {
		return s, nil
	}
	return insertAt(s, parent, QuoteJSON(last.key)+":"+fresh), nil
}

// insertAt appends an element or member to an array or object.
func insertAt(s string, v jsonSpan, item string) string {
	inner := strings.TrimRight(s[v.start+1:v.end-1], " \t\r\n")
	sep := ","
	if inner == "" {
		sep = ""
	}
	at := v.start + 1 + len(inner)
	return s[:at] + sep + item + s[at:]
}

// deleteMember removes a member with its comma.
func deleteMember(m *meter.Meter, s string, object jsonSpan, key string) (types.Value, error) {
	// prev is the end of the previous member, next the start of the following one.
	prev, start, end, next := -1, -1, -1, -1
	last := -1
	sc := newJSONScanner(m, s, object.start)
	keyStart := func(from int) int { return from + strings.IndexByte(s[from:], '"') }
	from := object.start + 1
	if err := sc.members(func(k string, v jsonSpan) bool {
		at := keyStart(from)
		from = v.end
		switch {
		case start >= 0:
			next = at
			return false
		case k == key:
			prev, start, end = last, at, v.end
		}
		last = v.end
		return true
	}); err != nil || start < 0 {
		return s, err
	}
	switch {
	case next >= 0:
		return s[:start] + s[next:], nil
	case prev >= 0:
		return s[:prev] + s[end:], nil
	}
	return s[:start] + s[end:], nil
}

// JSONText returns a value as FOR JSON and JSON_MODIFY print it: numbers and bits unquoted, bytes
// in base64, dates in ISO 8601, other values as strings. With isRaw a text is returned unchanged.
// NULL is null.
func JSONText(v types.Value, t types.Type, isRaw bool) (string, error) {
	if v == nil {
		return "null", nil
	}
	if t.ID == types.Variant {
		inner, x, err := types.VariantUnpack(v)
		if err != nil {
			return "", err
		}
		return JSONText(x, inner, false)
	}
	switch {
	case t.ID == types.Bit:
		if v == int64(0) {
			return "false", nil
		}
		return "true", nil
	case t.IsApprox():
		return types.FormatNumber(v, t, 2), nil
	case t.IsMoney():
		return types.FormatNumber(v, t, 2), nil
	case t.IsNumber():
		return types.FormatNumber(v, t, types.NoStyle), nil
	case t.IsTemporal():
		r, err := types.Convert(v, t, types.VarCharOf(40), isoStyle(t))
		if err != nil {
			return "", err
		}
		s, _ := r.(string)
		if i := strings.IndexByte(s, '.'); i >= 0 && strings.Trim(s[i+1:], "0") == "" {
			s = s[:i] // a fraction of zero is omitted
		}
		return QuoteJSON(s), nil
	case t.IsBinary(), t.ID == types.Image, t.ID == types.RowVersion:
		b, _ := v.([]byte)
		return `"` + base64.StdEncoding.EncodeToString(b) + `"`, nil
	}
	s, err := text(v, t)
	if err != nil {
		return "", err
	}
	if isRaw {
		return s, nil
	}
	return QuoteJSON(s), nil
}

// isoStyle is the style of ISO 8601 for a date or time type.
func isoStyle(t types.Type) int {
	switch t.ID {
	case types.Date, types.Time:
		return types.NoStyle
	}
	return 126
}
