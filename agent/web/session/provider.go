package session

// Provider is an issuer at which people can sign in.
type Provider struct {
	// Name is unique, and part of the path; Title is for people.
	Name, Title string
}
