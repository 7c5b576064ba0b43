package fault

import "fmt"

// Kind is a way in which a request fails.
type Kind uint8

// The kinds.
const (
	// None: the request succeeds.
	None Kind = iota
	// BeforeSending: the connection breaks before the first byte of the request is sent. The server
	// does nothing.
	BeforeSending
	// AfterSending: the server executes the request and answers. Then the connection breaks, and no
	// byte of the answer arrives.
	AfterSending
	// Transient: the server does nothing and answers with the transient error 40613, database not
	// available.
	Transient
	// Cut: the server executes the request. Half of the answer arrives, then the connection breaks.
	Cut
	// Stall: the server executes the request. No byte of the answer arrives, and the connection
	// stays open.
	Stall
	// refused: the server does nothing and answers with the error of [Network.Refuse].
	refused
)

// Kinds lists all kinds except None.
var Kinds = []Kind{BeforeSending, AfterSending, Transient, Cut, Stall}

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case None:
		return "none"
	case BeforeSending:
		return "before sending"
	case AfterSending:
		return "after sending"
	case Transient:
		return "transient error"
	case Cut:
		return "cut answer"
	case Stall:
		return "stall"
	default:
		return fmt.Sprintf("kind %d", uint8(k))
	}
}

// Call is one request: a login, a batch, a procedure call or a transaction manager request.
// Attentions do not count.
type Call struct {
	// N is the number of the request on its network, from 1.
	N int
	// Name is "login", the name of the procedure, the beginning of the batch, or "transaction" for
	// the transaction manager.
	Name string
}
