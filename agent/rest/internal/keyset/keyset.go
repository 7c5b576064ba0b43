// Package keyset encodes the place at which the next page of a list begins. A token is opaque for
// clients, but holds no secret and needs no state in the front.
package keyset

import (
	"encoding/base64"
	"encoding/json"
	"errors"
)

// ErrToken is the error about a text that is not a token.
var ErrToken = errors.New("the token is not one that this list has given")

// Encode returns the token of a place.
func Encode(place any) (string, error) {
	text, err := json.Marshal(place)
	return base64.RawURLEncoding.EncodeToString(text), err
}

// Decode reads a token into the value to which place points.
func Decode(token string, place any) error {
	text, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || json.Unmarshal(text, place) != nil {
		return ErrToken
	}
	return nil
}
