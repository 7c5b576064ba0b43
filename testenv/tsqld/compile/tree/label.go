package tree

import "github.com/jobagent/jobagent/testenv/tsqld/types"

// Label is the collation label of a character value ("Collation Precedence"). Labels compare with
// ==.
type Label struct {
	Precedence Precedence
	Conflict   *Conflict // set for values without a collation
}

// Precedence orders the labels: the higher one determines the collation of a result.
type Precedence uint8

// The labels of SQL Server.
const (
	PrecedenceDefault  Precedence = iota // coercible-default
	PrecedenceImplicit                   // implicit
	PrecedenceNone                       // no-collation: the operands have different implicit collations
	PrecedenceExplicit                   // explicit
)

// Collation labels.
var (
	LabelCoercible = Label{}                               // literals, variables, results of functions over them
	LabelImplicit  = Label{Precedence: PrecedenceImplicit} // columns
	LabelExplicit  = Label{Precedence: PrecedenceExplicit} // COLLATE
)

// Conflict is the reason why a value has no collation.
type Conflict struct {
	A, B      types.Collation
	Operation string // name in messages
}

// HasConflict reports whether a value has no collation. Only collation-insensitive operations take
// such a value.
func (l Label) HasConflict() bool { return l.Precedence == PrecedenceNone }

// Higher returns the label with the higher precedence.
func (l Label) Higher(other Label) Label {
	if other.Precedence > l.Precedence {
		return other
	}
	return l
}
