// Package secret seals secrets for the keys of agents. A sealed secret can be stored in the control
// database: it cannot be opened without the private key of one of its recipients (invariant I9).
//
// The value is encrypted with AES-256-GCM under a random data key, which is used once. The data key
// is sealed with HPKE (RFC 9180: X25519, HKDF-SHA256, AES-256-GCM) for each recipient. Both are
// bound to the control database, to the owner and name of the secret, to its version and to the
// hosts that may receive it. So a sealed secret cannot be opened after it was copied to another
// place, or after its hosts were changed.
package secret
