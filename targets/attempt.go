package targets

// DefaultCredential is the name of the credential that is used where a step or a member names none.
const DefaultCredential = "default"

// Attempt is one try of a step's command on one target. Each kind of target adds what its own
// runner needs beside these fields.
type Attempt struct {
	// Target is the database that the command runs on.
	Target Target
	// Credential names the credential; empty means DefaultCredential.
	Credential string
	// Command is the step's command: a T-SQL script, for example.
	Command string
	// Session describes the attempt to administrators of the target, as far as its kind can show
	// it; empty: nothing.
	Session string
}
