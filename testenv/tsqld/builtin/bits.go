package builtin

import (
	"math/bits"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// bitFuncs are the bit manipulation functions of SQL Server 2022, for integers and binary values.
// Bit 0 is the least significant bit; in a binary value it is in the last byte.
var bitFuncs = []*Func{
	pure("LEFT_SHIFT", 2, 2, bitsResult("left_shift"), evalShift(1)),
	pure("RIGHT_SHIFT", 2, 2, bitsResult("right_shift"), evalShift(-1)),
	pure("BIT_COUNT", 1, 1, bitCountResult, evalBitCount),
	pure("GET_BIT", 2, 2, getBitResult, evalGetBit),
	pure("SET_BIT", 2, 3, bitsResult("set_bit"), evalSetBit),
}

// bitsResult returns the first argument's type, an integer or a binary type other than (max);
// further arguments must be integers. Error 8116.
func bitsResult(name string) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) {
		t := args[0]
		if t.ID == types.Null {
			t = types.IntType
		}
		if !t.IsInteger() && !t.IsBinary() || t.Length == types.Max {
			return types.Type{}, mserr.InvalidArgumentType(t.MessageName(), 1, name)
		}
		for i, a := range args[1:] {
			if !a.IsInteger() && a.ID != types.Null {
				return types.Type{}, mserr.InvalidArgumentType(a.MessageName(), i+2, name)
			}
		}
		return t, nil
	}
}

// bitCountResult is bigint.
func bitCountResult(args []types.Type, consts []types.Value) (types.Type, error) {
	_, err := bitsResult("bit_count")(args, consts)
	return types.BigIntType, err
}

// getBitResult is bit.
func getBitResult(args []types.Type, consts []types.Value) (types.Type, error) {
	_, err := bitsResult("get_bit")(args, consts)
	return types.BitType, err
}

// bitPattern returns a value's bytes in a new slice, the most significant one first. A bit has one
// byte.
func bitPattern(v types.Value, t types.Type) []byte {
	switch v := v.(type) {
	case []byte:
		return append([]byte(nil), v...)
	case int64:
		p := make([]byte, max(int(t.MaxLength()), 1))
		for i := range p {
			p[len(p)-1-i] = byte(v >> (8 * i))
		}
		return p
	}
	return nil
}

// fromPattern is the inverse of bitPattern.
func fromPattern(p []byte, t types.Type) types.Value {
	if t.IsBinary() {
		return p
	}
	var u uint64
	for _, c := range p {
		u = u<<8 | uint64(c)
	}
	switch t.ID {
	case types.Bit:
		return int64(u & 1)
	case types.TinyInt:
		return int64(u)
	}
	shift := 64 - 8*len(p)
	return int64(u<<shift) >> shift
}

// width returns the number of bits of a pattern.
func width(p []byte, t types.Type) int64 {
	if t.ID == types.Bit {
		return 1
	}
	return int64(8 * len(p))
}

// evalShift shifts bits to the left (direction 1) or right (-1), and by a negative number in the
// other direction. New bits are 0.
func evalShift(direction int64) evalFunc {
	return func(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
		n, err := convert.Bigint(args[1], ts[1])
		if err != nil {
			return nil, err
		}
		p := bitPattern(args[0], ts[0])
		w := width(p, ts[0])
		out := make([]byte, len(p))
		if n <= -w || n >= w {
			return fromPattern(out, result), nil
		}
		n *= direction
		for i := range w {
			if j := i + n; j >= 0 && j < w && bitAt(p, i) != 0 {
				setBit(out, j, 1)
			}
		}
		return fromPattern(out, result), nil
	}
}

// bitAt is a bit of a pattern.
func bitAt(p []byte, i int64) byte { return p[len(p)-1-int(i/8)] >> (i % 8) & 1 }

// setBit changes a bit of a pattern.
func setBit(p []byte, i int64, bit byte) {
	c := &p[len(p)-1-int(i/8)]
	*c = *c&^(1<<(i%8)) | bit<<(i%8)
}

func evalBitCount(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	n := 0
	for _, c := range bitPattern(args[0], ts[0]) {
		n += bits.OnesCount8(c)
	}
	return int64(n), nil
}

// bitOffset returns the second argument. Error 9838 if the value has no such bit.
func bitOffset(v types.Value, t types.Type, p []byte, of types.Type, name string) (int64, error) {
	n, err := convert.Bigint(v, t)
	if err == nil && (n < 0 || n >= width(p, of)) {
		state := uint8(1)
		if name == "set_bit" {
			state = 2
		}
		err = mserr.Of(9838, name, width(p, of)-1).WithState(state)
	}
	return n, err
}

func evalGetBit(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	p := bitPattern(args[0], ts[0])
	n, err := bitOffset(args[1], ts[1], p, ts[0], "get_bit")
	if err != nil {
		return nil, err
	}
	return int64(bitAt(p, n)), nil
}

// evalSetBit sets a bit to 1 or to the third argument. Error 1023 if that is neither 0 nor 1.
func evalSetBit(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	p := bitPattern(args[0], ts[0])
	n, err := bitOffset(args[1], ts[1], p, ts[0], "set_bit")
	if err != nil {
		return nil, err
	}
	bit := int64(1)
	if len(args) > 2 {
		if bit, err = convert.Bigint(args[2], ts[2]); err == nil && bit != 0 && bit != 1 {
			err = mserr.InvalidParameter(3, "set_bit")
		}
		if err != nil {
			return nil, err
		}
	}
	setBit(p, n, byte(bit))
	return fromPattern(p, result), nil
}
