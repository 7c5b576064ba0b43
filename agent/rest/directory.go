package rest

import "github.com/jobagent/jobagent/controldb"

// Entry is a control database of the configuration. Subscription, resource group and server
// are labels: they give the database its place in paths, and are compared without regard to case.
type Entry struct {
	// Name is the name of the database in ARM paths, unique within the server.
	Name string
	// Subscription is a GUID.
	Subscription, ResourceGroup, Server string
	// Location is shown in answers, and must be given by requests that create resources.
	Location string
	// DNSSuffix is added to server names without one, and removed from answers; it begins
	// with a dot. Empty means that names pass unchanged.
	DNSSuffix string
	// ImplicitAgent names the job agent of a database without an agent row; empty: there is
	// none, and the database is served once an account was created in it.
	ImplicitAgent string
	// Install permits to install the schema when an account is created.
	Install bool
	// Store calls the database as the front's login. With a caller in the context, a call runs as
	// the database user of the caller's role.
	Store *controldb.Store
}
