package jsontext

import (
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// maxValue is the longest text of JSON_VALUE in units of UTF-16: its type is nvarchar(4000).
const maxValue = 4000

// KindOf checks a whole text and returns its kind. Errors: 13609, and that of a canceled request.
func KindOf(m *meter.Meter, s string) (Kind, error) {
	v, err := scan(m, s)
	return v.kind, err
}

// at finds the value at the path of JSON_VALUE or JSON_QUERY; ok is false if a lax path has no
// value. Error 13608 for a strict path without a value.
func at(m *meter.Meter, s, path string) (v span, isStrict, ok bool, err error) {
	p, err := parsePath(path)
	if err != nil {
		return span{}, false, false, err
	}
	root, err := scan(m, s)
	if err != nil {
		return span{}, false, false, err
	}
	if v, ok, err = find(m, s, root, p.steps); err == nil && !ok && p.isStrict {
		err = mserr.JSONProperty()
	}
	return v, p.isStrict, ok, err
}

// Value implements JSON_VALUE: it returns the scalar at a path as a text. The result is nil for
// null, and with a lax path for what is no scalar or longer than 4000 characters. Errors: 13607,
// 13608, 13609, 13623, 13625, and that of a canceled request.
func Value(m *meter.Meter, s, path string) (types.Value, error) {
	v, isStrict, ok, err := at(m, s, path)
	switch {
	case err != nil || !ok:
		return nil, err
	case v.kind == Array || v.kind == Object:
		if isStrict {
			return nil, mserr.JSONScalar()
		}
		return nil, nil
	}
	r := scalar(s, v)
	if t, ok := r.(string); ok && len(t) > maxValue && types.Units(t) > maxValue {
		if isStrict {
			return nil, mserr.JSONTruncated()
		}
		return nil, nil
	}
	return r, nil
}

// Query implements JSON_QUERY: it returns the object or array at a path, with a lax path nil for
// anything else. Errors: 13607, 13608, 13609, 13624, and that of a canceled request.
func Query(m *meter.Meter, s, path string) (types.Value, error) {
	v, isStrict, ok, err := at(m, s, path)
	switch {
	case err != nil || !ok:
		return nil, err
	case v.kind != Array && v.kind != Object:
		if isStrict {
			return nil, mserr.JSONObject()
		}
		return nil, nil
	}
	return v.of(s), nil
}

// Exists implements JSON_PATH_EXISTS: it reports whether there is a value at a path. Errors: 13607,
// 13609, and that of a canceled request.
func Exists(m *meter.Meter, s, path string) (bool, error) {
	p, err := parsePath(path)
	if err != nil {
		return false, err
	}
	root, err := scan(m, s)
	if err != nil {
		return false, err
	}
	_, ok, err := find(m, s, root, p.steps)
	return ok, err
}
