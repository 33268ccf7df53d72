-- Invitations into a space, by the name that the inviting admin typed. Whether an account of that name exists
-- is not checked, so that an invitation reveals nothing.
CREATE TABLE invitations (
    space_id TEXT NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
    user_name TEXT NOT NULL,
    role TEXT NOT NULL,
    invited_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (space_id, user_name)
);
CREATE INDEX invitations_user ON invitations (user_name);
