package front

import (
	"context"
	"strings"

	"github.com/jobagent/jobagent/agent/rest/auth/issuer"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/sap"
)

// tenants looks up the tenants for which the front issues tokens. It implements issuer.Tenants.
type tenants map[string]*controldb.Store // by name of the instance

// tenants returns the tenants of all instances of the SAP surface.
func (f *Front) tenants(instances []config.SAPInstance) tenants {
	t := tenants{}
	for _, i := range instances {
		t[i.SAPService.Name] = f.storeOf(i)
	}
	return t
}

// Tenant implements issuer.Tenants. Clients ask for a token twice a day, so the list is read each
// time. An ID wins over a subdomain; a subdomain of two tenants names neither.
func (t tenants) Tenant(ctx context.Context, instance, name string) (issuer.Tenant, bool, error) {
	ctx = caller.With(ctx, caller.Caller{Role: "jobs_reader", Name: "issuer of tokens", Door: caller.DoorREST})
	list, err := sap.On(t[instance]).Tenants(ctx, "")
	if err != nil {
		return issuer.Tenant{}, false, err
	}
	var named []issuer.Tenant
	for _, one := range list {
		tenant := issuer.Tenant{ID: one.ID, Subdomain: one.SubDomain}
		switch {
		case !one.Subscribed:
		case one.ID == name:
			return tenant, true, nil
		case one.SubDomain != "" && strings.EqualFold(one.SubDomain, name):
			named = append(named, tenant)
		}
	}
	if len(named) != 1 {
		return issuer.Tenant{}, false, nil
	}
	return named[0], true, nil
}
