package auth

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
)

// SignIn returns the caller of a static token that a person has typed in. Wrong tokens are not
// counted: 256 random bits cannot be guessed, and a count would refuse right ones.
func (a *Auth) SignIn(text string) (rest.Principal, error) {
	t, err := a.checkToken(text)
	var known *rest.Error
	switch {
	case errors.As(err, &known):
		return rest.Principal{}, err
	case err != nil:
		return rest.Principal{}, &rest.Error{Status: http.StatusUnauthorized, Code: rest.CodeUnauthenticated, Message: "The token is invalid: " + err.Error() + "."}
	}
	return rest.Principal{ID: tokenKind + t.ID, Name: printable(cmp.Or(t.Name, tokenKind+t.ID))}, nil
}

// The reasons for which a static token is refused.
var (
	errNotToken     = errors.New("it is not a token of this front")
	errUnknownToken = errors.New("it is not known")
)

// checkToken returns the static token of a text. The error is a reason, or a *rest.Error if the
// token file cannot be read.
func (a *Auth) checkToken(text string) (tokenfile.Token, error) {
	id, secret, ok := tokenfile.Parse(text)
	if !ok {
		return tokenfile.Token{}, errNotToken
	}
	t, found, err := a.token(id)
	if err != nil {
		a.options.Log.Error("the token file cannot be read", zap.Error(err))
		return tokenfile.Token{}, unavailable("The tokens of the front cannot be read now. Try again later.")
	}
	// An unknown token is compared as well, with the zero token, which matches nothing.
	if !t.Matches(secret) || !found {
		return tokenfile.Token{}, errUnknownToken
	}
	if t.Expired(a.options.Now()) {
		return tokenfile.Token{}, errExpired
	}
	return t, nil
}

// Current returns nil while a person who has signed in may go on. A static token must still be
// known and must not have expired. Tokens of issuers are not asked for again; sessions have a
// limit of their own.
func (a *Auth) Current(p rest.Principal) error {
	id, ok := cutToken(p.ID)
	if !ok {
		return nil
	}
	t, found, err := a.token(id)
	switch {
	case err != nil:
		return err
	case !found:
		return errUnknownToken
	case t.Expired(a.options.Now()):
		return errExpired
	}
	return nil
}

// cutToken returns the ID of the static token that a caller's ID names.
func cutToken(id string) (string, bool) {
	if len(id) <= len(tokenKind) || id[:len(tokenKind)] != tokenKind {
		return "", false
	}
	return id[len(tokenKind):], true
}

// Known returns a caller without the groups and app roles that no grant names. Tokens of issuers
// may name hundreds.
func (a *Auth) Known(p rest.Principal) rest.Principal {
	p.Groups = slices.DeleteFunc(slices.Clone(p.Groups), func(g string) bool { return len(a.grants[foldID(g)]) == 0 })
	return p
}
