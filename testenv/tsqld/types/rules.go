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

// String is the operator's name as error texts have it.
func (o Op) String() string { return opNames[o] }

// Common is the type of an expression that may yield a value of any of ts: CASE, COALESCE, IIF, UNION,
// VALUES, IN. The type of the highest precedence wins; lengths and digits are those that hold every
// operand. Bare NULLs count only when there is nothing else: then the result is int.
//
// Errors: 206 or 257 where one operand cannot become the winner.
func Common(ts ...Type) (Type, error) {
	t, err := CommonOrNull(ts...)
	if err == nil && t.ID == Null {
		return IntType, nil
	}
	return t, err
}

// CommonOrNull is Common where more types may follow: that of bare NULLs only is Null still.
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

// common2 is Common of two types; Null stays Null.
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

// widen gives win the length, precision and scale to hold values of lose.
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
			// The integral part keeps its digits, the scale gives way.
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

// widenLength takes the larger of the two lengths; the fixed types of different lengths stay fixed.
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

// mixCollation resolves two implicit collations. Columns that conflict are the binder's business (468);
// here the explicit, non-default one wins over the database's.
func mixCollation(a, b Collation) Collation {
	if a == CI {
		return b
	}
	return a
}

// timeScale is the number of fractional digits of seconds that a value of t can have.
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

// DisplayLength is the number of characters that CAST of a value to a character type can need, as the
// rules of string results use it: int needs 12, decimal its precision and 3, datetime2(7) 27. Character
// and binary types have their own length, Max included.
func (t Type) DisplayLength() int {
	switch t.ID {
	case Bit:
		return 1
	case TinyInt:
		return 3
	case SmallInt:
		return 6
	case Int:
		return 12
	case BigInt:
		return 24
	case Decimal:
		return int(t.Precision) + 3
	case Money, SmallMoney:
		return 21
	case Real, Float:
		return 23
	case Date:
		return 10
	case DateTime, SmallDateTime:
		return 23
	case Time, DateTime2, DateTimeOffset:
		return int(t.SysPrecision())
	case UniqueIdentifier:
		return 36
	case RowVersion:
		return 8
	case Null:
		return 1
	case Text, NText, Image, XML, Variant:
		return Max
	}
	return t.Length
}

// asDecimal is the decimal type that holds every value of a number type exactly: int is decimal(10,0),
// money decimal(19,4). ok is false for other types, approximate numbers included.
func asDecimal(t Type) (Type, bool) {
	switch t.ID {
	case Decimal:
		return t, true
	case Bit:
		return DecimalOf(1, 0), true
	case TinyInt:
		return DecimalOf(3, 0), true
	case SmallInt:
		return DecimalOf(5, 0), true
	case Int:
		return DecimalOf(10, 0), true
	case BigInt:
		return DecimalOf(19, 0), true
	case Money:
		return DecimalOf(19, 4), true
	case SmallMoney:
		return DecimalOf(10, 4), true
	}
	return Type{}, false
}

// CompareType is the type to which both operands of a comparison are converted. Collations that
// differ are the binder's to refuse; operator is the name for errors ("equal to", "less than", ...).
//
// Errors: 306 and 402 for types that do not compare, 206 and 257 where there is no conversion.
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
			return Type{}, mserr.IncompatibleTypes(a.Name(), b.Name(), operator)
		}
		return Type{}, mserr.LOBCompare()
	}
	return common2(a, b)
}

// ArithType is the type of "a op b". Both operands are converted to it before the operation except
// where OperandType says otherwise.
//
// Errors: 402 types that do not meet in the operator, 8117 a type that the operator does not take,
// 206 and 257 where an operand cannot be converted.
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
		return Type{}, mserr.IncompatibleTypes(a.Name(), b.Name(), op.String())
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
		// Arithmetic on two bits has no result type (8117).
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

// checkOperand refuses the types that op does not take. win is the operand of higher precedence.
func checkOperand(op Op, win, a, b Type) error {
	switch {
	case win.IsNumber():
		// float % is refused for both approximate types (402 since SQL Server 2008).
		if op == Mod && win.IsApprox() {
			return mserr.IncompatibleTypes(a.Name(), b.Name(), op.String())
		}
		for _, t := range [...]Type{a, b} {
			if t.IsLOB() || t.ID == XML || t.ID == UniqueIdentifier {
				return mserr.TypeClash(t.Name(), win.Name())
			}
		}
		return nil
	case win.IsLegacyTemporal():
		if op == Add || op == Sub {
			for _, t := range [...]Type{a, b} {
				if t.IsLOB() || t.ID == UniqueIdentifier {
					return mserr.TypeClash(t.Name(), win.Name())
				}
			}
			return nil
		}
		return mserr.InvalidOperandType(win.Name(), op.String())
	case win.IsString() || win.IsBinary():
		// Strings and binary values meet only in concatenation, which was handled before.
		if op == Add || a.ID != b.ID {
			return mserr.IncompatibleTypes(a.Name(), b.Name(), op.String())
		}
		return mserr.InvalidOperandType(win.Name(), op.String())
	case a.ID == b.ID:
		return mserr.InvalidOperandType(win.Name(), op.String())
	case win.IsTemporal() && (a.IsNumber() || b.IsNumber()):
		lose := a
		if a.ID == win.ID {
			lose = b
		}
		return mserr.TypeClash(lose.Name(), win.Name())
	}
	return mserr.IncompatibleTypes(a.Name(), b.Name(), op.String())
}

// bitType is the type of a bitwise operation: integers, or one binary operand with an integer.
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
	return Type{}, mserr.IncompatibleTypes(a.Name(), b.Name(), op.String())
}

// concatType is the type of a string concatenation: the sum of the lengths up to 8000 bytes, (max)
// when an operand is; fixed only when both are.
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

// decimalResult applies the table of "Precision, scale, and length (Transact-SQL)". When the precision
// would exceed 38, the scale is cut, but not below 6 for * and / (and not where it was smaller).
func decimalResult(op Op, a, b Type) Type {
	p1, s1, p2, s2 := int(a.Precision), int(a.Scale), int(b.Precision), int(b.Scale)
	var p, s int
	switch op {
	case Add, Sub:
		s = max(s1, s2)
		p = s + max(p1-s1, p2-s2) + 1
		if p > maxDecimal {
			// The integral part comes first: the scale keeps what is left of 38 digits.
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
	return DecimalOf(uint8(max(p, 1)), uint8(s))
}

// OperandTypes are the types to which the operands of "a op b" are converted before the operation, given
// its result. They equal the result except for decimals, whose operands keep their own digits, and for
// bitwise operations and concatenations, whose operands keep their lengths.
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

// NegateType is the type of "-t"; error 8117 where there is none.
func NegateType(t Type) (Type, error) {
	switch {
	case t.ID == Null:
		return IntType, nil
	case t.ID == Bit || !t.IsNumber():
		return Type{}, mserr.InvalidOperandType(t.Name(), "minus")
	case t.ID == TinyInt: // the result of a minus does not fit tinyint
		return SmallIntType, nil
	}
	return t, nil
}

// BitNotType is the type of "~t"; error 8117 where there is none.
func BitNotType(t Type) (Type, error) {
	if t.ID == Null {
		return IntType, nil
	}
	if !t.IsInteger() {
		return Type{}, mserr.InvalidOperandType(t.Name(), "bitwise not")
	}
	return t, nil
}
