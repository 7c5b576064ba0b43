package types

import "github.com/jobagent/jobagent/testenv/tsqld/mserr"

// Conversion is the kind of conversion between two types.
type Conversion uint8

// The kinds of conversion in the matrix of "CAST and CONVERT (Transact-SQL)", "Implicit
// conversions".
const (
	Forbidden Conversion = iota // neither; error 529 for CAST, 206 otherwise
	Explicit                    // only by CAST or CONVERT; error 257 otherwise
	Implicit                    // automatically
)

// class is a group of types with equal rows and columns in the matrix.
type class uint8

const (
	clBinary   class = iota + 1 // binary, varbinary
	clChar                      // char, varchar
	clNChar                     // nchar, nvarchar
	clDateTime                  // datetime, smalldatetime
	clDate
	clTime
	clDateTime2 // datetime2
	clOffset    // datetimeoffset
	clDecimal
	clFloat // float, real
	clInt   // bit to bigint
	clMoney
	clRowVersion
	clGUID
	clImage
	clNText
	clText
	clVariant
	clXML
	classes
)

// classOf has the classes of types by ID, 0 for the zero type and Null.
var classOf = [256]class{
	Binary: clBinary, VarBinary: clBinary, Char: clChar, VarChar: clChar, NChar: clNChar, NVarChar: clNChar,
	DateTime: clDateTime, SmallDateTime: clDateTime, Date: clDate, Time: clTime, DateTime2: clDateTime2,
	DateTimeOffset: clOffset, Decimal: clDecimal, Float: clFloat, Real: clFloat,
	Bit: clInt, TinyInt: clInt, SmallInt: clInt, Int: clInt, BigInt: clInt, Money: clMoney, SmallMoney: clMoney,
	RowVersion: clRowVersion, UniqueIdentifier: clGUID, Image: clImage, NText: clNText, Text: clText, Variant: clVariant,
	XML: clXML,
}

// matrix holds one row per source class and one letter per target class in the order of the
// constants above: i implicit, e explicit, '.' forbidden. Source: the conversion chart of "CAST and
// CONVERT (Transact-SQL)".
var matrix = [classes]string{
	//               B C N D d t 2 o # f i $ r g I n T v x
	clBinary:     "iiieeeee" + "ieii" + "ii" + "i.." + "ii",
	clChar:       "eiiiiiii" + "iiii" + "ei" + "iii" + "ii",
	clNChar:      "eiiiiiii" + "iiii" + "ei" + ".ii" + "ii",
	clDateTime:   "eiiiiiii" + "eeee" + "e." + "..." + "i.",
	clDate:       "eiiii.ii" + "...." + ".." + "..." + "i.",
	clTime:       "eiii.iii" + "...." + ".." + "..." + "i.",
	clDateTime2:  "eiiiiiii" + "...." + ".." + "..." + "i.",
	clOffset:     "eiiiiiii" + "...." + ".." + "..." + "i.",
	clDecimal:    "iiii...." + "iiii" + "i." + "..." + "i.",
	clFloat:      "iiii...." + "iiii" + "i." + "..." + "i.",
	clInt:        "iiii...." + "iiii" + "i." + "..." + "i.",
	clMoney:      "iiii...." + "iiii" + "i." + "..." + "i.",
	clRowVersion: "ii.i...." + "i.ii" + "i." + "i.." + "..",
	clGUID:       "iii....." + "...." + ".i" + "..." + "i.",
	clImage:      "i......." + "...." + "i." + "i.." + "..",
	clNText:      ".ei....." + "...." + ".." + ".ii" + ".i",
	clText:       ".ie....." + "...." + ".." + ".ii" + ".i",
	clVariant:    "eeeeeeee" + "eeee" + ".e" + "..." + "i.",
	clXML:        "eee....." + "...." + ".." + "..." + ".i",
}

// ConversionOf returns the kind of conversion from one type to another. A bare NULL converts to
// every type.
func ConversionOf(from, to Type) Conversion {
	if from.ID == Null {
		return Implicit
	}
	f, t := classOf[from.ID], classOf[to.ID]
	if f == 0 || t == 0 {
		return Forbidden
	}
	switch matrix[f][t-1] {
	case 'i':
		return Implicit
	case 'e':
		return Explicit
	}
	return Forbidden
}

// CheckImplicit checks that from converts to to automatically, in an assignment, an argument or a
// comparison. Error 257 if a CAST is needed, 206 if there is no conversion.
func CheckImplicit(from, to Type) error {
	switch ConversionOf(from, to) {
	case Implicit:
		return nil
	case Explicit:
		return mserr.ImplicitConversion(from.MessageName(), to.MessageName())
	}
	return mserr.TypeClash(from.MessageName(), to.MessageName())
}

// CheckExplicit checks that CAST(from AS to) exists; error 529 if not.
func CheckExplicit(from, to Type) error {
	if ConversionOf(from, to) == Forbidden {
		return mserr.ExplicitConversion(from.MessageName(), to.MessageName())
	}
	return nil
}
