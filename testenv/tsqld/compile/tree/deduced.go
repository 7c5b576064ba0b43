package tree

import "github.com/jobagent/jobagent/testenv/tsqld/types"

// Deduced is a parameter without a declaration.
type Deduced struct {
	Name    string     // with the '@'
	Type    types.Type // the zero type if nothing implies a type
	Formal  string     // name of the parameter of a function to which it is passed; "" for none
	General bool       // the type is one of the general types
}
