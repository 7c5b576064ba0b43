package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
)

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

// Directory holds the control databases of a front. It does not change, so it is safe for
// concurrent use.
type Directory struct{ entries []*Entry }

// NewDirectory returns a directory of entries, or all faults of them.
func NewDirectory(entries ...*Entry) (*Directory, error) {
	var errs []error
	places := map[string]bool{}
	for i, e := range entries {
		if e.Name == "" || e.ResourceGroup == "" || e.Server == "" {
			errs = append(errs, fmt.Errorf("invalid control database %d: want name, resource group and server", i+1))
			continue
		}
		if _, err := uuid.Parse(e.Subscription); err != nil {
			errs = append(errs, fmt.Errorf("invalid subscription %q of control database %q: want a GUID", e.Subscription, e.Name))
		}
		if e.DNSSuffix != "" && !strings.HasPrefix(e.DNSSuffix, ".") {
			errs = append(errs, fmt.Errorf("invalid DNS suffix %q of control database %q: want a dot before it", e.DNSSuffix, e.Name))
		}
		place := strings.ToLower(e.Subscription + "/" + e.ResourceGroup + "/" + e.Server + "/" + e.Name)
		if places[place] {
			errs = append(errs, fmt.Errorf("two control databases are named %q in the same server", e.Name))
		}
		places[place] = true
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Directory{entries: entries}, nil
}

// Entries returns all entries in the order of the configuration. The caller does not change them.
func (d *Directory) Entries() []*Entry { return d.entries }

// InSubscription returns the entries of a subscription. Without any, the error is a
// CodeSubscriptionNotFound.
func (d *Directory) InSubscription(subscription string) ([]*Entry, error) {
	list := d.filter(func(e *Entry) bool { return strings.EqualFold(e.Subscription, subscription) })
	if len(list) == 0 {
		return nil, &Error{
			Status: http.StatusNotFound, Code: CodeSubscriptionNotFound,
			Message: fmt.Sprintf("The subscription '%s' could not be found.", subscription),
		}
	}
	return list, nil
}

// InGroup returns the entries of a resource group, and none if the subscription has no such group.
func (d *Directory) InGroup(subscription, group string) ([]*Entry, error) {
	list, err := d.InSubscription(subscription)
	if err != nil {
		return nil, err
	}
	var found []*Entry
	for _, e := range list {
		if strings.EqualFold(e.ResourceGroup, group) {
			found = append(found, e)
		}
	}
	return found, nil
}

// InServer returns the entries of a server. Without any, the error says which part of the path is
// unknown.
func (d *Directory) InServer(subscription, group, server string) ([]*Entry, error) {
	list, err := d.InSubscription(subscription)
	if err != nil {
		return nil, err
	}
	var found []*Entry
	elsewhere := false // the server is in another resource group
	for _, e := range list {
		if strings.EqualFold(e.Server, server) {
			if strings.EqualFold(e.ResourceGroup, group) {
				found = append(found, e)
			}
			elsewhere = true
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case elsewhere:
		return nil, &Error{
			Status: http.StatusNotFound, Code: CodeServerNotInResourceGroup,
			Message: fmt.Sprintf("Server '%s' is not in resource group '%s' of subscription '%s'.", server, group, subscription),
		}
	default:
		return nil, &Error{
			Status: http.StatusNotFound, Code: CodeServerNotInSubscription,
			Message: fmt.Sprintf("Subscription '%s' does not have the server '%s'.", subscription, server),
		}
	}
}

// Find returns the entry of a database, and false if the server has no such database.
func (d *Directory) Find(subscription, group, server, name string) (*Entry, bool) {
	for _, e := range d.entries {
		if strings.EqualFold(e.Subscription, subscription) && strings.EqualFold(e.ResourceGroup, group) &&
			strings.EqualFold(e.Server, server) && strings.EqualFold(e.Name, name) {
			return e, true
		}
	}
	return nil, false
}

// filter returns the entries for which keep is true.
func (d *Directory) filter(keep func(*Entry) bool) (list []*Entry) {
	for _, e := range d.entries {
		if keep(e) {
			list = append(list, e)
		}
	}
	return list
}
