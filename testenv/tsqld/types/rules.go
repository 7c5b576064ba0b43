package types

import "github.com/jobagent/jobagent/testenv/tsqld/mserr"

// Op is a binary operator of T-SQL that computes a value.
type Op uint8

// The binary operators. Add is also the concatenation of strings and of binary values.
const (
	Add Op = iota
	Sub
	Mul
	Div
	Mod
	BitAnd
	BitOr
	BitXor
)

// opNames are the operators' names in errors 402 and 8117.
var opNames = [...]string{"add", "subtract", "multiply", "divide", "modulo", "'&'", "'|'", "'^'"}

// String returns the operator's name in error texts.
func (o Op) String() string { return opNames[o] }

// Common returns the type of an expression that returns a value of one of ts: CASE, COALESCE, IIF,
// UNION, VALUES, IN. The type of highest precedence wins, with lengths and digits that hold every
// operand. Bare NULLs count only if all operands are NULL: then the type is int.
//
// Errors: 206 or 257 if an operand cannot be converted.
func Common(ts ...Type) (Type, error) {
	t, err := CommonOrNull(ts...)
	if err == nil && t.ID == Null {
		return IntType, nil
	}
	return t, err
}

// CommonOrNull is Common for a list that may grow: the type of bare NULLs only is still Null.
func CommonOrNull(ts ...Type) (Type, error) {
	result := Type{ID: Null}
	for _, t := range ts {
		r, err := common2(result, t)
		if err != nil {
			return Type{}, err
		}
		result = r
	}
	return result, nil
}

// common2 is Common of two types. The result of Null and Null is Null.
func common2(a, b Type) (Type, error) {
	if a == b || b.ID == Null {
		return a, nil
	}
	if a.ID == Null {
		return b, nil
	}
	win, lose := a, b
	if b.Precedence() < a.Precedence() {
		win, lose = b, a
	}
	if win.ID != lose.ID {
		if err := CheckImplicit(lose, win); err != nil {
			return Type{}, err
		}
	}
	return widen(win, lose), nil
}

// widen extends length, precision and scale of win to hold values of lose.
func widen(win, lose Type) Type {
	switch {
	case win.ID == Decimal:
		l, ok := asDecimal(lose)
		if !ok {
			return win
		}
		s := max(win.Scale, l.Scale)
		i := max(int(win.Precision)-int(win.Scale), int(l.Precision)-int(l.Scale))
		p := i + int(s)
		if p > maxDecimal {
			// The integral part keeps its digits at the expense of the scale.
			s = uint8(max(0, maxDecimal-i))
			p = maxDecimal
		}
		win.Precision, win.Scale = uint8(p), s
	case win.IsString():
		if lose.IsCharacter() && lose.Collation != win.Collation && !lose.IsLOB() {
			win.Collation = mixCollation(win.Collation, lose.Collation)
		}
		win = widenLength(win, lose)
	case win.IsBinary():
		win = widenLength(win, lose)
	case win.ID == Time, win.ID == DateTime2, win.ID == DateTimeOffset:
		win.Scale = max(win.Scale, lose.timeScale())
	}
	return win
}

// widenLength returns win with the larger of the two lengths. Fixed types of different lengths stay
// fixed.
func widenLength(win, lose Type) Type {
	n := lose.DisplayLength()
	if win.Length == Max || lose.Length == Max && (lose.IsString() || lose.IsBinary()) || lose.ID == XML || lose.IsLOB() {
		n = Max
	} else {
		n = max(n, win.Length)
	}
	if n != Max && (win.ID == NChar || win.ID == NVarChar) {
		n = min(n, maxUnits)
	}
	if n == Max {
		switch win.ID {
		case Char:
			win.ID = VarChar
		case NChar:
			win.ID = NVarChar
		case Binary:
			win.ID = VarBinary
		}
	}
	win.Length = n
	return win
}

// mixCollation resolves two implicit collations: a collation other than the default wins. The
// binder rejects conflicts of columns (468).
func mixCollation(a, b Collation) Collation {
	if a == CI {
		return b
	}
	return a
}

// timeScale returns the number of fractional digits of seconds in values of t.
func (t Type) timeScale() uint8 {
	switch t.ID {
	case Time, DateTime2, DateTimeOffset:
		return t.Scale
	case DateTime:
		return 3
	case Char, VarChar, NChar, NVarChar:
		return maxTimeFrac
	}
	return 0
}

// displayLengths are the results of [Type.DisplayLength] that depend on the ID only.
var displayLengths = [256]int{
	Bit: 1, TinyInt: 3, SmallInt: 6, Int: 12, BigInt: 24, Money: 21, SmallMoney: 21, Real: 23, Float: 23, Date: 10,
	DateTime: 23, SmallDateTime: 23, UniqueIdentifier: 36, RowVersion: 8, Null: 1,
	Text: Max, NText: Max, Image: Max, XML: Max, Variant: Max,
}

// DisplayLength returns the maximum length of a value that is cast to a character type, for the
// rules of string results: 12 for int, precision + 3 for decimal, 27 for datetime2(7). Character
// and binary types have their own length, Max included.
func (t Type) DisplayLength() int {
	switch t.ID {
	case Decimal:
		return int(t.Precision) + 3
	case Time, DateTime2, DateTimeOffset:
		return int(t.SysPrecision())
	}
	if n := displayLengths[t.ID]; n != 0 {
		return n
	}
	return t.Length
}

// exactTypes are the decimals that hold every value of a type of exact numbers.
var exactTypes = map[ID]Type{
	Bit: DecimalOf(1, 0), TinyInt: DecimalOf(3, 0), SmallInt: DecimalOf(5, 0), Int: DecimalOf(10, 0), BigInt: DecimalOf(19, 0),
	Money: DecimalOf(19, 4), SmallMoney: DecimalOf(10, 4),
}

// asDecimal returns the decimal type that holds every value of a number type exactly: decimal(10,0)
// for int, decimal(19,4) for money. ok is false for other types, including approximate numbers.
func asDecimal(t Type) (d Type, ok bool) {
	if t.ID == Decimal {
		return t, true
	}
	d, ok = exactTypes[t.ID]
	return d, ok
}

// CompareType returns the type to which both operands of a comparison are converted; operator is
// its name in errors ("equal to", "less than", ...). The binder rejects conflicts of collations.
//
// Errors: 306 and 402 for types that cannot be compared, 206 and 257 if there is no conversion.
func CompareType(a, b Type, operator string) (Type, error) {
	if a.ID == Null && b.ID == Null {
		return IntType, nil
	}
	for _, t := range [...]Type{a, b} {
		if t.Comparable() || t.ID == Null {
			continue
		}
		if t.ID == XML {
			return Type{}, mserr.XMLCompare()
		}
		if a.IsCharacter() && b.IsCharacter() || a.ID == b.ID {
			return Type{}, mserr.IncompatibleTypes(a.MessageName(), b.MessageName(), operator)
		}
		return Type{}, mserr.LOBCompare()
	}
	return common2(a, b)
}

// ArithType returns the type of "a op b". Both operands are converted to it before the operation,
// except as in [OperandTypes].
//
// Errors: 402 for types that cannot be combined, 8117 for a type that the operator does not accept,
// 206 and 257 if an operand cannot be converted.
func ArithType(op Op, a, b Type) (Type, error) {
	if a.ID == Null && b.ID == Null {
		return IntType, nil
	}
	// A bare NULL takes the other operand's type.
	if a.ID == Null {
		a = b
	} else if b.ID == Null {
		b = a
	}
	if op >= BitAnd {
		return bitType(op, a, b)
	}
	if op == Add && (a.IsString() || a.IsBinary()) && (b.IsString() || b.IsBinary()) {
		if a.IsBinary() == b.IsBinary() {
			return concatType(a, b), nil
		}
		return Type{}, mserr.IncompatibleTypes(a.MessageName(), b.MessageName(), op.String())
	}
	win, lose := a, b
	if b.Precedence() < a.Precedence() {
		win, lose = b, a
	}
	if err := checkOperand(op, win, a, b); err != nil {
		return Type{}, err
	}
	if win.ID != lose.ID {
		if err := CheckImplicit(lose, win); err != nil {
			return Type{}, err
		}
	}
	switch {
	case win.IsLegacyTemporal():
		return Type{ID: DateTime}, nil
	case win.ID == Bit:
		// Arithmetic on two bits has no result type.
		if op == Add || op == Sub || op == Mod {
			return Type{}, mserr.IncompatibleTypes("bit", "bit", op.String())
		}
		return Type{}, mserr.InvalidOperandType("bit", op.String())
	case win.ID == Decimal:
		l, ok := asDecimal(lose)
		if !ok { // a string takes the other operand's precision and scale
			l = win
		}
		if a.Precedence() == win.Precedence() {
			return decimalResult(op, win, l), nil
		}
		return decimalResult(op, l, win), nil
	}
	return Type{ID: win.ID}, nil
}

// checkOperand rejects the types that op does not accept. win is the operand of higher precedence.
func checkOperand(op Op, win, a, b Type) error {
	switch {
	case win.IsNumber():
		// % does not accept approximate types (402 since SQL Server 2008).
		if op == Mod && win.IsApprox() {
			return mserr.IncompatibleTypes(a.MessageName(), b.MessageName(), op.String())
		}
		for _, t := range [...]Type{a, b} {
			if t.IsLOB() || t.ID == XML || t.ID == UniqueIdentifier {
				return mserr.TypeClash(t.MessageName(), win.MessageName())
			}
		}
		return nil
	case win.IsLegacyTemporal():
		if op == Add || op == Sub {
			for _, t := range [...]Type{a, b} {
				if t.IsLOB() || t.ID == UniqueIdentifier {
					return mserr.TypeClash(t.MessageName(), win.MessageName())
				}
			}
			return nil
		}
		return mserr.InvalidOperandType(win.MessageName(), op.String())
	case win.IsString() || win.IsBinary():
		// Strings and binary values combine only in a concatenation, which is handled above.
		if op == Add || a.ID != b.ID {
			return mserr.IncompatibleTypes(a.MessageName(), b.MessageName(), op.String())
		}
		return mserr.InvalidOperandType(win.MessageName(), op.String())
	case a.ID == b.ID:
		return mserr.InvalidOperandType(win.MessageName(), op.String())
	case win.IsTemporal() && (a.IsNumber() || b.IsNumber()):
		lose := a
		if a.ID == win.ID {
			lose = b
		}
		return mserr.TypeClash(lose.MessageName(), win.MessageName())
	}
	return mserr.IncompatibleTypes(a.MessageName(), b.MessageName(), op.String())
}

// bitType returns the type of a bitwise operation: integers, or one binary operand with an integer.
func bitType(op Op, a, b Type) (Type, error) {
	switch {
	case a.IsInteger() && b.IsInteger():
		if b.Precedence() < a.Precedence() {
			return Type{ID: b.ID}, nil
		}
		return Type{ID: a.ID}, nil
	case a.IsInteger() && b.IsBinary():
		return Type{ID: a.ID}, nil
	case a.IsBinary() && b.IsInteger():
		return Type{ID: b.ID}, nil
	}
	return Type{}, mserr.IncompatibleTypes(a.MessageName(), b.MessageName(), op.String())
}

// concatType returns the type of a string concatenation: the sum of the lengths up to 8000 bytes,
// (max) if an operand is (max), and fixed only if both are.
func concatType(a, b Type) Type {
	r := a
	if b.Precedence() < a.Precedence() {
		r = b
	}
	if a.IsString() && b.IsString() {
		r.Collation = mixCollation(a.Collation, b.Collation)
	}
	limit := maxBytes
	if r.IsUnicode() {
		limit = maxUnits
	}
	if a.Length == Max || b.Length == Max {
		r.Length = Max
	} else {
		r.Length = min(a.Length+b.Length, limit)
	}
	if fixed := a.isFixed() && b.isFixed(); !fixed || r.Length == Max {
		switch r.ID {
		case Char:
			r.ID = VarChar
		case NChar:
			r.ID = NVarChar
		case Binary:
			r.ID = VarBinary
		}
	}
	return r
}

// isFixed reports char, nchar and binary.
func (t Type) isFixed() bool { return t.ID == Char || t.ID == NChar || t.ID == Binary }

// decimalResult applies the table of "Precision, scale, and length (Transact-SQL)". If the
// precision would exceed 38, the scale is reduced; for * and / not below 6, unless it was smaller.
// The result is numeric if an operand is, as literals are.
func decimalResult(op Op, a, b Type) Type {
	p1, s1, p2, s2 := int(a.Precision), int(a.Scale), int(b.Precision), int(b.Scale)
	var p, s int
	switch op {
	case Add, Sub:
		s = max(s1, s2)
		p = s + max(p1-s1, p2-s2) + 1
		if p > maxDecimal {
			// The integral part has priority: the scale keeps the rest of 38 digits.
			s = min(s, maxDecimal-min(max(p1-s1, p2-s2), maxDecimal))
			p = maxDecimal
		}
	case Mul:
		p, s = p1+p2+1, s1+s2
	case Div:
		s = max(6, s1+p2+1)
		p = p1 - s1 + s2 + s
	case Mod:
		s = max(s1, s2)
		p = min(p1-s1, p2-s2) + s
	}
	if p > maxDecimal {
		integral := p - s
		switch {
		case integral < 32:
			s = min(s, maxDecimal-integral)
		case s > 6:
			s = 6
		}
		p = maxDecimal
	}
	t := DecimalOf(uint8(max(p, 1)), uint8(s))
	t.Numeric = a.Numeric || b.Numeric
	return t
}

// OperandTypes returns the types to which the operands of "a op b" are converted before the
// operation. They equal the result, with two exceptions: decimals keep their own digits, and the
// operands of bitwise operations and concatenations keep their lengths.
func OperandTypes(op Op, a, b, result Type) (Type, Type) {
	each := func(t, other Type) Type {
		switch {
		case result.ID == Decimal:
			if d, ok := asDecimal(t); ok {
				return d
			}
			if d, ok := asDecimal(other); ok && other.ID == Decimal {
				return d
			}
			return result
		case result.IsString():
			if t.ID == Null {
				return result
			}
			if result.IsUnicode() && !t.IsUnicode() {
				n := t.Length
				if n > maxUnits {
					n = Max
				}
				return Type{ID: NVarChar, Length: n, Collation: t.Collation}
			}
			return t
		case result.IsBinary():
			if t.ID == Null {
				return result
			}
			return t
		case op >= BitAnd && t.IsBinary():
			return t
		}
		return result
	}
	return each(a, b), each(b, a)
}

// NegateType returns the type of "-t"; error 8117 if there is none.
func NegateType(t Type) (Type, error) {
	switch {
	case t.ID == Null:
		return IntType, nil
	case t.ID == Bit || !t.IsNumber():
		return Type{}, mserr.InvalidOperandType(t.MessageName(), "minus")
	case t.ID == TinyInt: // tinyint cannot hold a negative number
		return SmallIntType, nil
	}
	return t, nil
}

// BitNotType returns the type of "~t"; error 8117 if there is none.
func BitNotType(t Type) (Type, error) {
	if t.ID == Null {
		return IntType, nil
	}
	if !t.IsInteger() {
		return Type{}, mserr.InvalidOperandType(t.MessageName(), "bitwise not")
	}
	return t, nil
}
