package targets

// DefaultCredential is the name of the credential for steps and members that name none.
const DefaultCredential = "default"

// Attempt is one try of a step's command on one target. The runner of each kind of target adds
// fields of its own.
type Attempt struct {
	// Target is the database that the command runs on.
	Target Target
	// Credential names the credential; empty means DefaultCredential.
	Credential string
	// Command is the step's command: a T-SQL script, for example.
	Command string
	// Session describes the attempt to administrators of the target, if the kind of target can show
	// it; it may be empty.
	Session string
}
