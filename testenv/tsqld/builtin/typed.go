package builtin

import (
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// reader reads an argument that is not NULL. The function returns NULL if ok is false.
type reader[A any] func(v types.Value, t types.Type) (a A, ok bool, err error)

// aText reads a text without its trailing blanks.
func aText(v types.Value, t types.Type) (string, bool, error) {
	s, err := convert.Text(v, t)
	return types.TrimBlanks(s), true, err
}

// aKey reads a text with its trailing blanks.
func aKey(v types.Value, t types.Type) (string, bool, error) {
	s, err := convert.Text(v, t)
	return s, true, err
}

// anInt reads an integer.
func anInt(v types.Value, t types.Type) (int, bool, error) {
	n, err := convert.Integer(v, t)
	return n, true, err
}

// anID reads the id of an object, a type or a principal.
func anID(v types.Value, t types.Type) (int32, bool, error) {
	n, err := convert.Integer(v, t)
	return int32(n), true, err
}

// argument is an argument of any type.
type argument struct {
	typ   types.Type
	value types.Value
}

// anything reads an argument as it is.
func anything(v types.Value, t types.Type) (argument, bool, error) { return argument{t, v}, true, nil }

// qualified is a name of one to three parts.
type qualified struct{ database, schema, name string }

// aName reads a name of one to three parts; ok is false for malformed names.
func aName(v types.Value, t types.Type) (q qualified, ok bool, err error) {
	s, _, err := aText(v, t)
	if err != nil {
		return q, false, err
	}
	parts, ok := SplitName(s)
	if !ok || len(parts) > 3 {
		return q, false, nil
	}
	for _, p := range parts {
		q = qualified{q.schema, q.name, p}
	}
	return q, q.name != "", nil
}

// arguments reads the arguments of one call.
type arguments struct {
	types  []types.Type
	values []types.Value
	isNull bool // a value is NULL, or means nothing
	err    error
}

// read reads argument i. It returns the zero value for an argument that is absent.
func read[A any](a *arguments, i int, r reader[A]) (x A) {
	if a.err != nil || i >= len(a.values) {
		return x
	}
	if a.values[i] == nil {
		a.isNull = true
		return x
	}
	x, ok, err := r(a.values[i], a.types[i])
	a.isNull, a.err = a.isNull || !ok, err
	return x
}

// of1 makes a function of a part of the session and an argument. Its result is NULL if an argument
// is.
func of1[P, A any](part func(Env) P, name string, result types.Type, a reader[A], f func(P, A) (types.Value, error)) *Func {
	return session(part, name, 1, 1, result, func(p P, ts []types.Type, _ types.Type, vs []types.Value) (types.Value, error) {
		args := arguments{types: ts, values: vs}
		x := read(&args, 0, a)
		if args.isNull || args.err != nil {
			return nil, args.err
		}
		return f(p, x)
	})
}

// of2 is of1 for two arguments.
func of2[P, A, B any](part func(Env) P, name string, result types.Type, a reader[A], b reader[B],
	f func(P, A, B) (types.Value, error),
) *Func {
	return session(part, name, 2, 2, result, func(p P, ts []types.Type, _ types.Type, vs []types.Value) (types.Value, error) {
		args := arguments{types: ts, values: vs}
		x, y := read(&args, 0, a), read(&args, 1, b)
		if args.isNull || args.err != nil {
			return nil, args.err
		}
		return f(p, x, y)
	})
}

// of3 is of1 for three arguments.
func of3[P, A, B, C any](part func(Env) P, name string, result types.Type, a reader[A], b reader[B], c reader[C],
	f func(P, A, B, C) (types.Value, error),
) *Func {
	return session(part, name, 3, 3, result, func(p P, ts []types.Type, _ types.Type, vs []types.Value) (types.Value, error) {
		args := arguments{types: ts, values: vs}
		x, y, z := read(&args, 0, a), read(&args, 1, b), read(&args, 2, c)
		if args.isNull || args.err != nil {
			return nil, args.err
		}
		return f(p, x, y, z)
	})
}

// of0 makes a function of a part of the session.
func of0[P any](part func(Env) P, name string, result types.Type, f func(P) (types.Value, error)) *Func {
	return session(part, name, 0, 0, result, func(p P, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
		return f(p)
	})
}

// optional lets the last argument of a function be absent. The function gets its zero value then.
func optional(f *Func) *Func {
	f.MinArgs--
	return f
}

// upTo lets a function have more arguments, which it ignores.
func upTo(most int, f *Func) *Func {
	f.MaxArgs = most
	return f
}

// or0 lets a function be called without arguments: f0 is called then.
func or0(f0, f *Func) *Func {
	f.MinArgs = 0
	eval := f.Eval
	f.Eval = func(env Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
		if len(args) == 0 {
			return f0.Eval(env, ts, result, args)
		}
		return eval(env, ts, result, args)
	}
	return f
}

// found returns a name, or NULL.
func found(name string, ok bool) (types.Value, error) {
	if !ok {
		return nil, nil
	}
	return name, nil
}

// foundID returns an integer, or NULL.
func foundID[N int | int32 | int64 | uint8 | int16](n N, ok bool) (types.Value, error) {
	if !ok {
		return nil, nil
	}
	return int64(n), nil
}

// answer returns 1 or 0, or NULL for an unknown name.
func answer(is, known bool) (types.Value, error) { return foundID(types.BitOf(is), known) }

// property packs the result of one of Env's property methods.
func property(v types.Value, t types.Type, ok bool) (types.Value, error) {
	if !ok || v == nil {
		return nil, nil
	}
	return types.VariantPack(v, t)
}
