package catalog

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// A copy of a procedure or function for another instance has all fields but the cached values.
func TestUnused(t *testing.T) {
	t.Parallel()
	p, f := &Procedure{}, &Function{}
	for _, v := range []any{p, f} {
		fill(reflect.ValueOf(v).Elem())
	}
	_, err := p.Memo.Get(func() (any, error) { return 1, nil })
	require.NoError(t, err)
	_, err = f.References.Get(func() (any, error) { return 1, nil })
	require.NoError(t, err)
	q, g := p.unused(), f.unused()
	require.Equal(t, &Memo{}, &q.Memo)
	require.Equal(t, &Memo{}, &g.References)
	require.Same(t, p.Parsed, q.Parsed)
	require.Same(t, p.Plans, q.Plans)
	for _, pair := range [][2]any{{p, q}, {f, g}} {
		sameFields(t, reflect.ValueOf(pair[0]).Elem(), reflect.ValueOf(pair[1]).Elem())
	}
}

// fill sets each field to a value that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Memo]() {
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	}
}

// sameFields compares the fields of two structs, except for cached values.
func sameFields(t *testing.T, a, b reflect.Value) {
	t.Helper()
	for i := range a.NumField() {
		field := a.Type().Field(i)
		switch {
		case field.Type == reflect.TypeFor[Memo]():
		case field.Anonymous:
			sameFields(t, a.Field(i), b.Field(i))
		default:
			require.False(t, a.Field(i).IsZero(), "%s has a value", field.Name)
			require.Equal(t, a.Field(i).Interface(), b.Field(i).Interface(), field.Name)
		}
	}
}
