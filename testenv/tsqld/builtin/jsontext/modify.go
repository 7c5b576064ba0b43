package jsontext

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Modify implements JSON_MODIFY: it sets, inserts, deletes (NULL, lax) or appends the value v of
// type t at a path. With isRaw v is JSON itself and is not quoted. The rest of the text keeps its
// layout. Errors: 13607, 13608, 13609, those of [Text], and that of a canceled request.
func Modify(m *meter.Meter, s, path string, v types.Value, t types.Type, isRaw bool) (string, error) {
	p, err := parsePathOf(path, true)
	if err != nil {
		return "", err
	}
	root, err := scan(m, s)
	if err != nil {
		return "", err
	}
	fresh, err := Text(v, t, isRaw)
	if err != nil {
		return "", err
	}
	return modify(m, s, root, p, fresh, v == nil)
}

// modify replaces the value at path by fresh.
func modify(m *meter.Meter, s string, root span, path jsonPath, fresh string, isNull bool) (string, error) {
	target, ok, err := find(m, s, root, path.steps)
	if err != nil {
		return "", err
	}
	if path.isAppend {
		switch {
		case ok && target.kind == Array:
			return insertAt(s, target, fresh), nil
		case ok && path.isStrict, !ok && path.isStrict:
			return "", mserr.JSONProperty()
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
			return "", err
		}
		return deleteMember(m, s, parent, last.key)
	case ok:
		return s[:target.start] + fresh + s[target.end:], nil
	case path.isStrict:
		return "", mserr.JSONProperty()
	case isNull || len(path.steps) == 0:
		return s, nil
	}
	// A new member of an existing object. Elements beyond the end of an array are not created.
	last := path.steps[len(path.steps)-1]
	parent, ok, err := find(m, s, root, path.steps[:len(path.steps)-1])
	if err != nil {
		return "", err
	}
	if !ok || last.isIndex || parent.kind != Object {
		return s, nil
	}
	return insertAt(s, parent, Quote(last.key)+":"+fresh), nil
}

// insertAt appends an element or member to an array or object, after the blanks before its end
// (SQL Server 2022, recorded).
func insertAt(s string, v span, item string) string {
	at, sep := v.end-1, ","
	if strings.Trim(s[v.start+1:at], " \t\r\n") == "" {
		sep = ""
	}
	return s[:at] + sep + item + s[at:]
}

// deleteMember removes a member with the comma behind it, or before the last one. Blanks remain.
func deleteMember(m *meter.Meter, s string, object span, key string) (string, error) {
	prev, start, end := -1, -1, -1 // prev is the end of the previous member
	more := false
	last := -1
	sc := newScanner(m, s, object.start)
	keyStart := func(from int) int { return from + strings.IndexByte(s[from:], '"') }
	from := object.start + 1
	if err := sc.members(func(k string, v span) bool {
		at := keyStart(from)
		from = v.end
		switch {
		case start >= 0:
			more = true
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
	case more:
		return s[:start] + s[end+strings.IndexByte(s[end:], ',')+1:], nil
	case prev >= 0:
		return s[:prev+strings.IndexByte(s[prev:], ',')] + s[end:], nil
	}
	return s[:start] + s[end:], nil
}
