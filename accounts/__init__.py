"""Who somebody is: users and the credentials they show."""
