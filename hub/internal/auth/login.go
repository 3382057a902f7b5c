package auth

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

// Failed logins before further ones are refused unchecked.
const (
	maxLoginFailures   = 10 // of an account at an address
	maxAddressFailures = 30 // of an address, for any account
	loginWindow        = 15 * time.Minute
)

// Session holds the tokens of a login.
type Session struct {
	AccessToken  string
	RefreshToken string        // good for one use
	ExpiresIn    time.Duration // of the access token
	Operator     Operator
}

// Login checks a password and starts a login. Unknown addresses, wrong passwords and
// disabled operators get the same [hub.ErrUnauthorized] after the same time. After too many
// failures in 15 minutes, of the account at the client's address or of that address, it
// returns a [hub.ErrRateLimited] whose RetryAfter is the time to wait. Failures of others at
// the same address do not count for an account that logged in from there before. While many
// strangers log in, a login that is none of these is a [hub.ErrUnavailable] after some
// seconds.
func (s *Service) Login(ctx context.Context, email, password, clientIP string) (Session, error) {
	var session Session
	err := s.login(ctx, email, password, clientIP, func(ctx context.Context, queries *dbgen.Queries, operator Operator) error {
		var err error
		session, err = s.issue(ctx, queries, operator, uuid.Must(uuid.NewV7()))
		return err
	})
	return session, err
}

// login checks a password and has issue store the credentials of a new login, in the
// transaction that holds the operator's row.
func (s *Service) login(ctx context.Context, email, password, clientIP string, issue func(context.Context, *dbgen.Queries, Operator) error) error {
	login := loginAttempt{s.accountHash(email), httpx.ClientNetwork(clientIP)}
	isKnown, err := s.admitLogin(ctx, login)
	if err != nil {
		return err
	}
	release, err := s.hasher.gate.acquire(ctx, login.requester(isKnown))
	if err != nil {
		return err
	}
	// Counted again while a slot is held, so that a burst cannot try more than the limit and
	// the few that are being checked.
	checked, err := s.checkCredentials(ctx, login, email, password)
	release()
	if err != nil {
		return err
	}
	if err := dbgen.New(s.db).DeleteLoginFailures(ctx, login.account, login.network); err != nil {
		return store.Wrap("forgetting failed logins", err)
	}
	if err := s.saveKnown(ctx, login); err != nil {
		return err
	}
	err = store.InTx(ctx, s.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		row, err := queries.LockOperator(ctx, checked.ID)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && (row.Disabled || row.PasswordHash != checked.PasswordHash) {
			return invalidCredentials() // changed while it was checked
		}
		if err != nil {
			return store.Wrap("loading the operator", err)
		}
		return issue(ctx, queries, operatorOf(row))
	})
	return store.Wrap("logging in", err)
}

func invalidCredentials() error {
	return hub.Errorf(hub.ErrUnauthorized, "invalid_credentials", "E-mail address or password is wrong.")
}

func (s *Service) checkCredentials(ctx context.Context, login loginAttempt, email, password string) (dbgen.Operator, error) {
	if _, err := s.checkLimits(ctx, login); err != nil {
		return dbgen.Operator{}, err
	}
	queries := dbgen.New(s.db)
	row, err := queries.OperatorByEmail(ctx, email)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return dbgen.Operator{}, store.Wrap("loading the operator", err)
	}
	stored := s.hasher.dummy
	if err == nil {
		stored = row.PasswordHash
	}
	if matches := s.hasher.matches(stored, password); err != nil || !matches || row.Disabled {
		if err := queries.RecordLoginFailure(ctx, dbgen.RecordLoginFailureParams{AccountHash: login.account, Ip: login.network, At: s.config.Now()}); err != nil {
			return dbgen.Operator{}, store.Wrap("recording a failed login", err)
		}
		return dbgen.Operator{}, invalidCredentials()
	}
	return row, nil
}

// Refresh exchanges a refresh token for a new session. A token that was used before
// ends the whole login it belongs to: either its owner or a thief holds the newer one.
func (s *Service) Refresh(ctx context.Context, refreshToken string) (Session, error) {
	var session Session
	var reused bool
	if !strings.HasPrefix(refreshToken, refreshPrefix) {
		return Session{}, invalidRefreshToken()
	}
	err := store.InTx(ctx, s.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		token, err := queries.RefreshToken(ctx, hashToken(refreshToken))
		if errors.Is(err, pgx.ErrNoRows) {
			return invalidRefreshToken()
		}
		if err != nil {
			return store.Wrap("loading the refresh token", err)
		}
		row, err := queries.LockOperator(ctx, token.OperatorID)
		if errors.Is(err, pgx.ErrNoRows) {
			return invalidRefreshToken()
		}
		if err != nil {
			return store.Wrap("loading the operator", err)
		}
		if token, err = queries.LockRefreshToken(ctx, token.Hash); err != nil {
			return store.Wrap("loading the refresh token", err)
		}
		now := s.config.Now()
		if token.UsedAt != nil { // committed, although the answer is an error
			reused = true
			return store.Wrap("ending a login", queries.RevokeTokenFamily(ctx, token.FamilyID, &now))
		}
		if token.RevokedAt != nil || !token.ExpiresAt.After(now) {
			return invalidRefreshToken()
		}
		if row.Disabled {
			return invalidRefreshToken()
		}
		if err := queries.MarkRefreshTokenUsed(ctx, token.Hash, &now); err != nil {
			return store.Wrap("using the refresh token", err)
		}
		session, err = s.issue(ctx, queries, operatorOf(row), token.FamilyID)
		return err
	})
	if err == nil && reused {
		err = invalidRefreshToken()
	}
	if err != nil {
		return Session{}, store.Wrap("refreshing", err)
	}
	return session, nil
}

// Logout ends the login that a refresh token or an access token belongs to; either
// may be empty. A refresh token of another operator is left alone. Nothing to end
// is no error.
func (s *Service) Logout(ctx context.Context, accessToken, refreshToken string) error {
	now := s.config.Now()
	operator, family, ok := s.signer.verify(accessToken, now)
	if !ok {
		return nil // the local command line and API tokens have nothing to end
	}
	return store.Wrap("logging out", store.InTx(ctx, s.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		if _, err := queries.LockOperator(ctx, operator); errors.Is(err, pgx.ErrNoRows) {
			return nil
		} else if err != nil {
			return store.Wrap("loading the operator", err)
		}
		if err := queries.RevokeTokenFamily(ctx, family, &now); err != nil {
			return store.Wrap("ending a login", err)
		}
		token, err := queries.LockRefreshToken(ctx, hashToken(refreshToken))
		if errors.Is(err, pgx.ErrNoRows) || err == nil && token.OperatorID != operator {
			return nil
		}
		if err != nil {
			return store.Wrap("loading the refresh token", err)
		}
		return store.Wrap("ending a login", queries.RevokeTokenFamily(ctx, token.FamilyID, &now))
	}))
}

// Verify returns the operator of a bearer token. Valid are the local token, and access
// tokens whose login has not ended and whose operator is neither deleted nor disabled.
// Everything else is the same [hub.ErrUnauthorized].
func (s *Service) Verify(ctx context.Context, bearer string) (Operator, error) {
	if s.config.Local.matches(bearer) {
		return Operator{Name: LocalLabel, Role: RoleAdmin}, nil
	}
	if strings.HasPrefix(bearer, apiTokenPrefix) {
		return s.verifyAPIToken(ctx, bearer)
	}
	id, family, ok := s.signer.verify(bearer, s.config.Now())
	if !ok {
		return Operator{}, module.InvalidTokenError()
	}
	row, err := dbgen.New(s.db).OperatorByRefreshToken(ctx, id, family)
	if errors.Is(err, pgx.ErrNoRows) {
		return Operator{}, module.InvalidTokenError()
	}
	if err != nil {
		return Operator{}, store.Wrap("loading the operator", err)
	}
	return operatorOf(row), nil
}

// Account returns the operator with an address, for the audit log.
func (s *Service) Account(ctx context.Context, email string) (Operator, bool) {
	row, err := dbgen.New(s.db).OperatorByEmail(ctx, email)
	return operatorOf(row), err == nil
}

// issue creates the tokens of a session and stores the refresh token.
func (s *Service) issue(ctx context.Context, queries *dbgen.Queries, operator Operator, family uuid.UUID) (Session, error) {
	now := s.config.Now()
	access, err := s.signer.sign(operator.ID, family, now, s.config.AccessTTL)
	if err != nil {
		return Session{}, err
	}
	refresh, hash := newRefreshToken()
	err = queries.CreateRefreshToken(ctx, dbgen.CreateRefreshTokenParams{
		Hash: hash, FamilyID: family, OperatorID: operator.ID, CreatedAt: now, ExpiresAt: now.Add(s.config.RefreshTTL),
	})
	if err != nil {
		return Session{}, store.Wrap("storing the refresh token", err)
	}
	return Session{AccessToken: access, RefreshToken: refresh, ExpiresIn: s.config.AccessTTL, Operator: operator}, nil
}

func invalidRefreshToken() *hub.Error {
	return hub.Errorf(hub.ErrUnauthorized, "invalid_refresh_token", "This refresh token cannot be used; log in again.")
}
