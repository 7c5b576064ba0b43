// Package azure gets the tokens of the kinds azure-managed-identity and azure-default. It is a
// package of its own so that package outbound, and with it the pure tests of actions, do not link
// Azure's identity libraries.
package azure

import (
	"context"
	"fmt"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/jobagent/jobagent/targets/outbound"
)

// Tokens gets tokens of Microsoft Entra ID; its method Get is an outbound.Config.Azure. The
// libraries dial the machine's own metadata service, which no action can reach. The zero value is
// ready to use. Safe for concurrent use.
type Tokens struct {
	// transport sends requests for tokens; nil means HTTP. Tests set it.
	transport policy.Transporter

	mu    sync.Mutex
	known map[source]azcore.TokenCredential
}

// source identifies a TokenCredential.
type source struct {
	kind     outbound.CredentialKind
	clientID string
}

// Get returns a token. A TokenCredential caches its tokens.
func (t *Tokens) Get(ctx context.Context, request outbound.AzureRequest) (outbound.AzureToken, error) {
	credential, err := t.credential(source{request.Kind, request.ClientID})
	if err != nil {
		return outbound.AzureToken{}, err
	}
	token, err := credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{request.Scope}})
	if err != nil {
		return outbound.AzureToken{}, fmt.Errorf("get a token of %s: %w", request.Kind, err)
	}
	return outbound.AzureToken{Token: token.Token, Expires: token.ExpiresOn}, nil
}

// credential returns the TokenCredential of a source. A configuration names few of them.
func (t *Tokens) credential(of source) (azcore.TokenCredential, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, ok := t.known[of]; ok {
		return c, nil
	}
	c, err := t.newCredential(of)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", of.kind, err)
	}
	if t.known == nil {
		t.known = make(map[source]azcore.TokenCredential)
	}
	t.known[of] = c
	return c, nil
}

// newCredential creates the TokenCredential of a source.
func (t *Tokens) newCredential(of source) (azcore.TokenCredential, error) {
	options := azcore.ClientOptions{Transport: t.transport}
	switch of.kind {
	case outbound.KindManagedIdentity:
		managed := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: options}
		if of.clientID != "" {
			managed.ID = azidentity.ClientID(of.clientID)
		}
		return azidentity.NewManagedIdentityCredential(managed)
	case outbound.KindAzureDefault:
		return azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: options})
	default:
		return nil, fmt.Errorf("invalid kind %q", of.kind)
	}
}
