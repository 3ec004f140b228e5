"""The contacts of users, whom they find, and the codes and messages that are sent to them."""
